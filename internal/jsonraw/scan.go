package jsonraw

import (
	"fmt"
)

// MaxDepth is the maximum nesting of arrays and objects. Real messages stay below 30. The limit protects recursive
// parsers, here and downstream, from stack overflow.
const MaxDepth = 512

// SyntaxError is a problem in a JSON text and its position.
type SyntaxError struct {
	Offset  int    // in bytes
	Problem string // a short noun phrase, such as "invalid character"
}

// Error returns the problem and its offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json: %s at offset %d", e.Problem, e.Offset)
}

// problem is the reason why a scan stopped; the zero value means none.
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

// at converts a problem to an error.
func (p problem) at(offset int) error {
	if p == fine {
		return nil
	}
	return &SyntaxError{Offset: offset, Problem: problemText[p]}
}

// stop returns the problem for an unexpected byte or end at an offset.
func stop(b []byte, i int) (int, problem) {
	if i >= len(b) {
		return len(b), endOfInput
	}
	return i, badCharacter
}

// Valid reports whether raw is exactly one JSON value, with optional surrounding white space. The error is a
// *SyntaxError. Duplicate keys are valid; see DuplicateKey.
func Valid(raw []byte) error {
	i, p := scanValue(raw, skipSpace(raw, 0), 0)
	if p == fine {
		i, p = scanEnd(raw, i)
	}
	return p.at(i)
}

// scanEnd verifies that only white space follows.
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

// scanValue scans the value at b[i] in depth containers. It returns the offset after the value, or the offset of
// the problem.
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

// scanKey scans `"key" :` and returns the offset after the colon.
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
