package wasmbin

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// reader walks bytes of a file. The first problem is kept in err; from then on every read answers
// zero and moves nothing, so callers look at err once at the end of a loop's turn.
type reader struct {
	b    []byte
	pos  int
	base int    // offset of b in the file
	what string // what is being read, for errors: "the import section"
	err  error
}

func (r *reader) offset() int { return r.base + r.pos }
func (r *reader) rest() int   { return len(r.b) - r.pos }
func (r *reader) done() bool  { return r.err != nil || r.pos >= len(r.b) }

// fail keeps the first problem. The format's arguments come before the sentinel.
func (r *reader) fail(sentinel error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...))
	}
}

func (r *reader) truncated() {
	r.fail(ErrTruncated, "%s ends too early at offset %d", r.what, r.base+len(r.b))
}

func (r *reader) u8() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.b) {
		r.truncated()
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	if r.err == nil && r.pos < len(r.b) && r.b[r.pos] < 0x80 { // one byte is by far the most common
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	return r.longU32()
}

func (r *reader) longU32() uint32 {
	start := r.offset()
	var x uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.u8()
		x |= uint64(c&0x7f) << shift
		if c&0x80 == 0 && x <= math.MaxUint32 {
			return uint32(x)
		}
	}
	r.fail(ErrMalformed, "%s holds a number over 32 bits at offset %d", r.what, start)
	return 0
}

// skipLEB passes a LEB128 number of at most max bytes.
func (r *reader) skipLEB(max int) {
	start := r.offset()
	for range max {
		if r.u8()&0x80 == 0 {
			return
		}
	}
	r.fail(ErrMalformed, "%s holds an overlong number at offset %d", r.what, start)
}

// bytes returns a view of the next n bytes.
func (r *reader) bytes(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(r.rest()) {
		r.truncated()
		return nil
	}
	v := r.b[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return v
}

// name reads a length and so many bytes of UTF-8.
func (r *reader) name() string {
	start := r.offset()
	v := r.bytes(r.u32())
	if !utf8.Valid(v) {
		r.fail(ErrMalformed, "%s holds a name that is not UTF-8 at offset %d", r.what, start)
		return ""
	}
	return string(v)
}

// count reads the length of a vector whose elements take at least min bytes each. A count that
// cannot be true is refused here, before anybody makes room for it.
func (r *reader) count(min int) int {
	start := r.offset()
	n := r.u32()
	if r.err == nil && uint64(n)*uint64(min) > uint64(r.rest()) {
		r.fail(ErrTruncated, "%s claims %d entries at offset %d but %d bytes are left", r.what, n, start, r.rest())
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}
