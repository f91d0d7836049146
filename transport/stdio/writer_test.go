package stdio

import (
	"bytes"
	"slices"
	"testing"
)

// pieces counts the bytes of each write.
type pieces []int

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, len(b))
	return len(b), nil
}

// The line end of a long message is written with its last bytes: a client that reads it wakes up once less.
func TestWriter_writesTheLineEndWithTheMessage(t *testing.T) {
	var got pieces
	w := newWriter(&got, func(err error) { t.Error(err) })
	for _, size := range []int{100, chunkSize, 100_000, 3 * chunkSize} {
		w.write(bytes.Repeat([]byte("x"), size), false)
	}
	if want := (pieces{101, chunkSize, 1, chunkSize, 100_001 - chunkSize, 3 * chunkSize, 1}); !slices.Equal(got, want) {
		t.Errorf("got writes of %d bytes, want %d", got, want)
	}
}
