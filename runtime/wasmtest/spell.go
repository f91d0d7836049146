package wasmtest

import (
	"bytes"
	"fmt"
)

// Spelling is one encoding of one instruction.
type Spelling struct {
	Name  string
	Short []byte // the instruction with each number in its shortest encoding
	Odd   []byte // the same numbers in longer encodings, or the same instruction with one byte changed
	// Same reports that Odd differs from Short in the length of numbers only.
	Same bool
}

// format describes the immediates of an opcode, one letter each: u an unsigned number, s and l signed ones of 32 and
// 64 bits, b a block type, z a byte that is 0, n the byte 1, t a value type, r a reference type, x a byte, 4, 8 and w
// that many bytes (w: 16), v a vector of labels and a default, o the number after 0xfc and 0xfd, m the number 1, A and
// T the kind of a catch clause without and with a tag.
type format string

// formats calls each with all instructions of WebAssembly 2.0, of exceptions and of tail calls.
func formats(each func(op byte, sub uint32, f format)) {
	span := func(from, to int, f format) {
		for op := from; op <= to; op++ {
			each(byte(op), 0, f)
		}
	}
	span(0x00, 0x01, "")
	span(0x02, 0x04, "b")
	span(0x08, 0x08, "u")
	span(0x0a, 0x0a, "")
	span(0x0c, 0x0d, "u")
	span(0x0e, 0x0e, "v")
	span(0x0f, 0x0f, "")
	span(0x10, 0x10, "u")
	span(0x11, 0x11, "uu")
	span(0x12, 0x12, "u")
	span(0x13, 0x13, "uu")
	span(0x1a, 0x1b, "")
	span(0x1c, 0x1c, "nt")
	span(0x1f, 0x1f, "bmAu")
	span(0x1f, 0x1f, "bmTuu")
	span(0x20, 0x26, "u")
	span(0x28, 0x3e, "uu")
	span(0x3f, 0x40, "z")
	span(0x41, 0x41, "s")
	span(0x42, 0x42, "l")
	span(0x43, 0x43, "4")
	span(0x44, 0x44, "8")
	span(0x45, 0xc4, "")
	span(0xd0, 0xd0, "r")
	span(0xd1, 0xd1, "")
	span(0xd2, 0xd2, "u")
	for sub, f := range []format{0: "o", 1: "o", 2: "o", 3: "o", 4: "o", 5: "o", 6: "o", 7: "o", 8: "ouz", 9: "ou", 10: "ozz",
		11: "oz", 12: "ouu", 13: "ou", 14: "ouu", 15: "ou", 16: "ou", 17: "ou"} {
		each(0xfc, uint32(sub), f)
	}
	for sub := range uint32(256) {
		switch {
		case sub <= 11 || sub == 92 || sub == 93:
			each(0xfd, sub, "ouu")
		case sub == 12 || sub == 13:
			each(0xfd, sub, "ow")
		case sub >= 21 && sub <= 34:
			each(0xfd, sub, "ox")
		case sub >= 84 && sub <= 91:
			each(0xfd, sub, "ouux")
		case !noVector[sub]:
			each(0xfd, sub, "o")
		}
	}
}

// noVector are the unassigned numbers after 0xfd.
var noVector = map[uint32]bool{0x9a: true, 0xa2: true, 0xa5: true, 0xa6: true, 0xaf: true, 0xb0: true, 0xb2: true, 0xb3: true, 0xb4: true,
	0xbb: true, 0xc2: true, 0xc5: true, 0xc6: true, 0xcf: true, 0xd0: true, 0xd2: true, 0xd3: true, 0xd4: true, 0xe2: true, 0xee: true}

// Spellings returns every instruction with each of its numbers in every length up to two bytes beyond the maximum, and
// with every byte value for each type and reserved byte. The numbers themselves are small: indices are 0.
func Spellings() []Spelling {
	var all []Spelling
	formats(func(op byte, sub uint32, f format) {
		name := fmt.Sprintf("%#x", op)
		if op >= 0xfc {
			name += fmt.Sprintf(" %d", sub)
		}
		short := spell(op, sub, f, -1, 0)
		all = append(all, Spelling{name, short, short, true})
		for at, part := range f {
			for choice := range choices(part) {
				odd := spell(op, sub, f, at, choice+1)
				if bytes.Equal(odd, short) {
					continue
				}
				all = append(all, Spelling{fmt.Sprintf("%s, part %d (%c) in way %d", name, at, part, choice), short, odd, longer(part)})
			}
		}
	})
	return all
}

// longer reports whether the encodings of a part differ in the length of a number.
func longer(part rune) bool {
	return part == 'u' || part == 'm' || part == 's' || part == 'l' || part == 'v' || part == 'o'
}

func choices(part rune) int {
	switch part {
	case 'u', 's', 'v', 'o', 'm':
		return 6
	case 'l':
		return 11
	case 'b', 'z', 'n', 't', 'r', 'A', 'T':
		return 256
	}
	return 0
}

// spell encodes an instruction, with the part at index at in a given alternative encoding.
func spell(op byte, sub uint32, f format, at, way int) []byte {
	out := []byte{op}
	for i, part := range f {
		if i == at {
			out = append(out, oddly(part, sub, way-1)...)
		} else {
			out = append(out, plainly(part, sub)...)
		}
	}
	return out
}

func plainly(part rune, sub uint32) []byte {
	switch part {
	case 'o':
		return U32(sub)
	case 'b':
		return []byte{0x40}
	case 'n', 'm':
		return []byte{1}
	case 'A':
		return []byte{2}
	case 't':
		return []byte{I32}
	case 'r':
		return []byte{FuncRef}
	case '4':
		return []byte{1, 2, 3, 4}
	case '8':
		return []byte{1, 2, 3, 4, 5, 6, 7, 8}
	case 'w':
		return []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	case 'v':
		return []byte{1, 0, 0}
	}
	return []byte{0} // u, s, l, z, x, T
}

// oddly encodes a part in an alternative way: a number in way+1 bytes, or any byte.
func oddly(part rune, sub uint32, way int) []byte {
	switch part {
	case 'o':
		return Overlong(sub, way+1)
	case 'u', 's', 'l':
		return Overlong(0, way+1)
	case 'm':
		return Overlong(1, way+1)
	case 'v':
		return append(Overlong(1, way+1), 0, 0)
	}
	return []byte{byte(way)}
}

// Overlong encodes a number in long bytes, or in its shortest encoding if that is longer.
func Overlong(n uint32, long int) []byte {
	b := U32(n)
	for len(b) < long {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}
