package native

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// reader reads a request as a guest does.
type reader struct{ request }

func (r *reader) Read(p []byte) (int, error) {
	if n := r.read(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, io.EOF
}

func TestRequest_isOneObjectInReadsOfAnySize(t *testing.T) {
	for _, c := range []struct {
		params json.RawMessage
		want   string
	}{
		{nil, `{"method":"a\"b"}`},
		{json.RawMessage(`{"text":"` + strings.Repeat("x", 600) + `"}`), `{"method":"a\"b","params":{"text":"` + strings.Repeat("x", 600) + `"}}`},
	} {
		r := newRequest(runtime.Request{Method: `a"b`, Params: c.params})
		if got := r.size(); got != len(c.want) {
			t.Errorf("size() = %d, want %d", got, len(c.want))
		}
		if err := iotest.TestReader(&reader{r}, []byte(c.want)); err != nil {
			t.Errorf("with %d bytes of params: %v", len(c.params), err)
		}
		whole := make([]byte, len(c.want)+1)
		if n := r.read(whole); n != len(c.want) {
			t.Errorf("one read returned %d bytes, want all %d", n, len(c.want))
		}
		if n := r.read(whole); n != 0 {
			t.Errorf("a read at the end returned %d bytes, want 0", n)
		}
	}
}
