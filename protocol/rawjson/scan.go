package rawjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest. Real messages stay below 30; the bound
// keeps the recursive readers here, and every decoder behind them, far from their stacks' ends.
const MaxDepth = 512

// SyntaxError says what is wrong with a JSON text and where.
type SyntaxError struct {
	Offset  int    // bytes before the place of the error
	Problem string // a short noun phrase, such as "invalid character"
}

// Error is the problem and its offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json: %s at offset %d", e.Problem, e.Offset)
}

// problem is the reason why a scan stopped; the zero value means that it did not.
type problem uint8

const (
	fine problem = iota
	endOfInput
	badCharacter
	badUTF8
	badEscape
	badNumber
	tooDeep
	trailing
	notObject
	notArray
)

var problemText = [...]string{
	fine:         "no problem",
	endOfInput:   "unexpected end",
	badCharacter: "invalid character",
	badUTF8:      "invalid UTF-8",
	badEscape:    "invalid escape",
	badNumber:    "invalid number",
	tooDeep:      fmt.Sprintf("nesting deeper than %d", MaxDepth),
	trailing:     "data after the value",
	notObject:    "want an object, but got another value",
	notArray:     "want an array, but got another value",
}

// at turns a problem into an error.
func (p problem) at(offset int) error {
	if p == fine {
		return nil
	}
	return &SyntaxError{Offset: offset, Problem: problemText[p]}
}

// stop is the problem at an offset where something else was needed.
func stop(b []byte, i int) (int, problem) {
	if i >= len(b) {
		return len(b), endOfInput
	}
	return i, badCharacter
}

// Valid reports whether raw is exactly one JSON value, with white space around it allowed.
// The error is a *SyntaxError. Duplicate keys are valid here; see DuplicateKey.
func Valid(raw []byte) error {
	i, p := scanValue(raw, skipSpace(raw, 0), 0)
	if p == fine {
		i, p = scanEnd(raw, i)
	}
	return p.at(i)
}

// scanEnd makes sure that nothing but white space follows.
func scanEnd(b []byte, i int) (int, problem) {
	if i = skipSpace(b, i); i < len(b) {
		return i, trailing
	}
	return i, fine
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// scanValue reads the value at b[i], which is inside depth containers. It returns the offset
// behind the value, or the offset of the problem.
func scanValue(b []byte, i, depth int) (int, problem) {
	if i >= len(b) {
		return i, endOfInput
	}
	switch b[i] {
	case '"':
		return scanString(b, i)
	case '{':
		return scanObject(b, i, depth)
	case '[':
		return scanArray(b, i, depth)
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanObject(b []byte, i, depth int) (int, problem) {
	if depth >= MaxDepth {
		return i, tooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, fine
	}
	for {
		var p problem
		if i, p = scanKey(b, i); p != fine {
			return i, p
		}
		if i, p = scanValue(b, skipSpace(b, i), depth+1); p != fine {
			return i, p
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == '}' {
			return i + 1, fine
		}
		return stop(b, i)
	}
}

// scanKey reads `"key" :` and returns the offset behind the colon.
func scanKey(b []byte, i int) (int, problem) {
	if i >= len(b) || b[i] != '"' {
		return stop(b, i)
	}
	i, p := scanString(b, i)
	if p != fine {
		return i, p
	}
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return stop(b, i)
	}
	return i + 1, fine
}

func scanArray(b []byte, i, depth int) (int, problem) {
	if depth >= MaxDepth {
		return i, tooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, fine
	}
	for {
		var p problem
		if i, p = scanValue(b, i, depth+1); p != fine {
			return i, p
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == ']' {
			return i + 1, fine
		}
		return stop(b, i)
	}
}

func scanWord(b []byte, i int, word string) (int, problem) {
	for k := 0; k < len(word); k++ {
		if i+k >= len(b) || b[i+k] != word[k] {
			return stop(b, i+k)
		}
	}
	return i + len(word), fine
}

func scanNumber(b []byte, i int) (int, problem) {
	if b[i] == '-' {
		i++
	} else if !digitAt(b, i) {
		return i, badCharacter
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, p := scanDigits(b, i); p != fine {
		return i, p
	} else {
		return scanFraction(b, i)
	}
	return scanFraction(b, i)
}

// scanFraction reads what may follow the digits of a number.
func scanFraction(b []byte, i int) (int, problem) {
	var p problem
	if i < len(b) && b[i] == '.' {
		if i, p = scanDigits(b, i+1); p != fine {
			return i, p
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i, fine
}

// scanDigits reads one digit or more.
func scanDigits(b []byte, i int) (int, problem) {
	if !digitAt(b, i) {
		if i >= len(b) {
			return i, endOfInput
		}
		return i, badNumber
	}
	for digitAt(b, i) {
		i++
	}
	return i, fine
}

func digitAt(b []byte, i int) bool {
	return i < len(b) && b[i]-'0' <= 9
}

// scanString reads the string whose opening quote is b[i].
func scanString(b []byte, i int) (int, problem) {
	for i++; ; {
		if i = skipPlain(b, i); i >= len(b) {
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

// skipPlain passes over printable ASCII other than quote and backslash, in long texts 32 bytes at a time.
func skipPlain(b []byte, i int) int {
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

// special tests eight bytes at a time for what skipPlain stops at: x-ones sets the high bit of each byte
// that was zero, so subtracting after an exclusive or finds a wanted byte. A borrow may set bits above the
// first find, never below, so the lowest of the highs is the place.
func special(b []byte) uint64 {
	w := binary.LittleEndian.Uint64(b)
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return w | (w - ones*' ') | (quote - ones) | (slash - ones)
}

// escapeLen is the length of the escape at the beginning of b, or 0 if it is not one.
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

// hex4 reads four hexadecimal digits.
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
