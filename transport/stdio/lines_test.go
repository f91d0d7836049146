package stdio

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func always() bool { return true }

// readAll reads every line of in. A long one is returned as "too long".
func readAll(in io.Reader, limit int) (list []string, err error) {
	l := &lines{in: in, max: limit}
	for {
		line, err := l.next(always)
		switch {
		case errors.Is(err, errTooLong):
			list = append(list, "too long")
		case err != nil:
			return list, err
		default:
			list = append(list, string(line))
		}
	}
}

// expected returns the lines by a simple rule: split, trim, measure.
func expected(data []byte, limit int) (list []string) {
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) > limit {
			list = append(list, "too long")
		} else if line = bytes.Trim(line, " \t\r"); len(line) > 0 {
			list = append(list, string(line))
		}
	}
	return list
}

// ragged returns its data in pieces of random size.
type ragged struct {
	data []byte
	rng  *rand.Rand
}

func (r *ragged) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(r.data), r.rng.IntN(9)*r.rng.IntN(9000))
	copy(p, r.data[:n])
	r.data = r.data[n:]
	return n, nil
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n  c \nlast"), uint16(3), uint64(1))
	f.Add([]byte("\r\r\n\r"), uint16(0), uint64(2))
	f.Add([]byte(strings.Repeat("long ", 100)+"\nx"), uint16(100), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, limit uint16, seed uint64) {
		want := expected(data, int(limit))
		for _, in := range []io.Reader{
			bytes.NewReader(data),
			iotest.OneByteReader(bytes.NewReader(data)),
			&ragged{data, rand.New(rand.NewPCG(seed, 0))},
		} {
			got, err := readAll(in, int(limit))
			if err != io.EOF || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
	})
}

// TestLines_stayValidUntilTheEnd keeps all lines until the end, as calls in flight do.
func TestLines_stayValidUntilTheEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var data []byte
	var want []string
	for i := range 2000 {
		line := strings.Repeat(string(rune('a'+i%26)), 1+rng.IntN(1+rng.IntN(5000)))
		data = append(append(data, line...), '\n')
		want = append(want, line)
	}
	l := &lines{in: &ragged{data, rng}, max: 1 << 20}
	var got [][]byte
	for {
		line, err := l.next(always)
		if err != nil {
			break
		}
		got = append(got, line)
		if cap(line) != len(line) {
			t.Fatalf("got a line of %d bytes with capacity %d, want no room into the next line", len(line), cap(line))
		}
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Fatalf("line %d: got %.100q, want %.100q", i, got[i], want[i])
		}
	}
}

// TestLines_takeLittleMoreThanLongLines counts the memory that lines over the size of a chunk take.
func TestLines_takeLittleMoreThanLongLines(t *testing.T) {
	const count, size = 50, 100_000
	data := strings.Repeat(strings.Repeat("x", size-1)+"\n", count)
	l := &lines{in: strings.NewReader(data), max: 1 << 20}
	taken, seen := 0, (*byte)(nil)
	for {
		_, err := l.next(always)
		if err != nil {
			break
		}
		if first := &l.chunk[0]; first != seen {
			taken, seen = taken+len(l.chunk), first
		}
	}
	if most := len(data) * 11 / 10; taken > most {
		t.Errorf("got chunks of %d bytes for %d, want at most %d", taken, len(data), most)
	}
}

func TestLines_refuseAReaderWithoutProgress(t *testing.T) {
	if list, err := readAll(stuck{}, 10); err != io.ErrNoProgress || len(list) != 0 {
		t.Errorf("got %q, %v; want no lines, %v", list, err, io.ErrNoProgress)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestLines_callIdleBeforeEachRead counts the calls of idle: buffered output must be written before a read that may
// block.
func TestLines_callIdleBeforeEachRead(t *testing.T) {
	idle, reads := 0, 0
	in := readerFunc(func(p []byte) (int, error) {
		if reads++; idle != reads {
			t.Fatalf("got %d times idle, want %d as reads", idle, reads)
		}
		if reads > 5 {
			return 0, io.EOF
		}
		return copy(p, strings.Repeat("x", 50)), nil
	})
	l := &lines{in: in, max: 100}
	for {
		if _, err := l.next(func() bool { idle++; return true }); err == io.EOF {
			return
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
