package jsonraw

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanString scans the string with its opening quote at b[i].
func scanString(b []byte, i int) (int, problem) {
	for i++; ; {
		if i = SkipPlain(b, i); i >= len(b) {
			return i, endOfInput
		}
		c := b[i]
		if c == '"' {
			return i + 1, fine
		}
		switch {
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, badEscape
			}
			i += n
		case c < ' ':
			return i, badCharacter
		default:
			_, n := utf8.DecodeRune(b[i:])
			if n == 1 {
				return i, badUTF8
			}
			i += n
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// SkipPlain returns the index of the first byte at or after i that is a quote, a backslash, below a space, or no ASCII;
// len(b) if there is none. It tests 32 bytes at a time in long texts.
func SkipPlain(b []byte, i int) int {
	for i+32 <= len(b) {
		p := b[i : i+32]
		if (special(p)|special(p[8:])|special(p[16:])|special(p[24:]))&highs != 0 {
			break
		}
		i += 32
	}
	for i+8 <= len(b) {
		if found := special(b[i:]) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// special tests eight bytes at once for those that stop SkipPlain. x-ones sets the high bit of each zero byte, so a
// subtraction after an exclusive or finds a byte value. A borrow can set bits only above the first match, so the
// lowest high bit is its position.
func special(b []byte) uint64 {
	w := binary.LittleEndian.Uint64(b)
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return w | (w - ones*' ') | (quote - ones) | (slash - ones)
}

// escapeLen returns the length of the escape at the start of b, or 0 if it is invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

// hex4 parses four hexadecimal digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
