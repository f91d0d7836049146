package jsonraw

import (
	"fmt"
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
