package wasmbin

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// reader decodes bytes of a file. err is the first error; after it every read returns zero and does not advance, so
// callers check err once per loop iteration. It has one method for each type and each group of instructions of the
// binary format.
type reader struct {
	b    []byte
	pos  int
	base int    // offset of b in the file
	what string // name of the part in errors, such as "the import section"
	err  error
}

func (r *reader) offset() int { return r.base + r.pos }
func (r *reader) rest() int   { return len(r.b) - r.pos }
func (r *reader) done() bool  { return r.err != nil || r.pos >= len(r.b) }

// fail records the first error: the sentinel, followed by the formatted text.
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
	if r.err == nil && r.pos < len(r.b) && r.b[r.pos] < 0x80 { // one byte is the most common case
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

// s32 reads a signed LEB128 number of at most 32 bits.
func (r *reader) s32() int32 { return int32(r.signed(32)) }

// s33 reads a signed LEB128 number of at most 33 bits.
func (r *reader) s33() int64 { return r.signed(33) }

// s64 reads a signed LEB128 number of at most 64 bits.
func (r *reader) s64() int64 { return r.signed(64) }

// signed reads a signed LEB128 number. The unused bits of its last byte must repeat the sign.
func (r *reader) signed(bits int) int64 {
	start, x := r.offset(), int64(0)
	for shift := 0; shift < bits; shift += 7 {
		c := r.u8()
		x |= int64(c&0x7f) << shift
		if c&0x80 != 0 {
			continue
		}
		if left := bits - shift; left < 7 { // the last possible byte
			if spare := int8(c<<1) >> left; spare != 0 && spare != -1 {
				break
			}
		}
		unused := max(0, 57-shift)
		return x << unused >> unused
	}
	r.fail(ErrMalformed, "%s holds a number over %d bits at offset %d", r.what, bits, start)
	return 0
}

// fixed reads a little-endian number of n bytes.
func (r *reader) fixed(n uint32) (x uint64) {
	for i, c := range r.bytes(n) {
		x |= uint64(c) << (8 * i)
	}
	return x
}

// peek returns the next byte without advancing.
func (r *reader) peek() byte {
	if r.err == nil && r.pos < len(r.b) {
		return r.b[r.pos]
	}
	return 0
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

// name reads a string: its length and that many bytes of UTF-8.
func (r *reader) name() string {
	start := r.offset()
	v := r.bytes(r.u32())
	if !utf8.Valid(v) {
		r.fail(ErrMalformed, "%s holds a name that is not UTF-8 at offset %d", r.what, start)
		return ""
	}
	return string(v)
}

// count reads the length of a vector whose elements take at least min bytes each. A length that exceeds the remaining
// bytes is rejected before any allocation.
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
