package jsonraw

import (
	"bytes"
	"encoding/json"
)

// Scanner iterates over the members of one object or the elements of one array. It validates every byte and does
// not allocate:
//
//	s := jsonraw.ScanObject(raw)
//	for s.Next() {
//		use(s.Key, s.Value)
//	}
//	if err := s.Err(); err != nil { … }
//
// A Scanner is not safe for concurrent use.
type Scanner struct {
	// Key is the raw text of the member's key between its quotes; compare it with KeyIs. It is nil in an array. Key
	// and Value are views into the input.
	Key []byte
	// Value is the member's value without surrounding white space.
	Value json.RawMessage

	data    []byte
	pos     int
	closing byte // '}' or ']'
	begun   bool
	done    bool
	problem problem
}

// ScanObject returns a Scanner for a text that must be an object.
func ScanObject(raw []byte) Scanner { return newScanner(raw, '{', '}', notObject) }

// ScanArray returns a Scanner for a text that must be an array.
func ScanArray(raw []byte) Scanner { return newScanner(raw, '[', ']', notArray) }

func newScanner(raw []byte, opening, closing byte, otherwise problem) Scanner {
	s := Scanner{data: raw, closing: closing, pos: skipSpace(raw, 0)}
	switch {
	case s.pos >= len(raw):
		s.fail(s.pos, endOfInput)
	case raw[s.pos] != opening:
		s.fail(s.pos, otherwise)
	default:
		s.pos++
	}
	return s
}

// Next advances to the next member or element. It returns false after the last one, when the end of the text is
// validated too, and at the first error.
func (s *Scanner) Next() bool {
	if s.done {
		return false
	}
	b := s.data
	i := skipSpace(b, s.pos)
	if i < len(b) && b[i] == s.closing {
		return s.finish(i + 1)
	}
	if s.begun {
		if i >= len(b) || b[i] != ',' {
			return s.fail(stop(b, i))
		}
		i = skipSpace(b, i+1)
	}
	s.begun = true
	return s.member(i)
}

// member scans the member or element at b[i].
func (s *Scanner) member(i int) bool {
	b := s.data
	if s.closing == '}' {
		if i >= len(b) || b[i] != '"' {
			return s.fail(stop(b, i))
		}
		end, p := scanString(b, i)
		if p != fine {
			return s.fail(end, p)
		}
		s.Key = b[i+1 : end-1]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return s.fail(stop(b, i))
		}
		i = skipSpace(b, i+1)
	}
	end, p := scanValue(b, i, 1)
	if p != fine {
		return s.fail(end, p)
	}
	s.Value = b[i:end:end]
	s.pos = end
	return true
}

func (s *Scanner) finish(i int) bool {
	return s.fail(scanEnd(s.data, i))
}

func (s *Scanner) fail(i int, p problem) bool {
	s.Key, s.Value = nil, nil
	s.done, s.pos, s.problem = true, i, p
	return false
}

// Err returns the *SyntaxError that stopped the iteration, or nil.
func (s *Scanner) Err() error { return s.problem.at(s.pos) }

// Start returns the offset of Value in the input.
func (s *Scanner) Start() int { return s.pos - len(s.Value) }

// KeyIs reports whether the current key, decoded, is key.
func (s *Scanner) KeyIs(key string) bool { return textIs(s.Key, key) }

// KeyString returns the current key, decoded.
func (s *Scanner) KeyString() string { return string(decoded(s.Key)) }

// Elements splits an array into its elements, which are views into raw.
func Elements(raw []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	s := ScanArray(raw)
	for s.Next() {
		list = append(list, s.Value)
	}
	return list, s.Err()
}

// Get follows path through objects and returns the value as a view into raw. It is nil if a key is missing or a
// value on the path is no object. Without a path it returns raw without surrounding white space.
//
// raw must be valid JSON; on other input Get may still find a value. Among equal keys the first is taken; callers
// for whom this matters check DuplicateKey first. Get does not allocate.
func Get(raw []byte, path ...string) json.RawMessage {
	for _, key := range path {
		if raw = member(raw, key); raw == nil {
			return nil
		}
	}
	return trim(raw)
}

// member finds a member of a valid object. It skips validation, which makes it ten times faster in long texts.
func member(raw []byte, key string) []byte {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil
	}
	for i = skipSpace(raw, i+1); i < len(raw) && raw[i] == '"'; i = skipSpace(raw, i+1) {
		end := passString(raw, i)
		name := raw[i+1 : max(i+1, end-1)]
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ':' {
			return nil
		}
		i = skipSpace(raw, i+1)
		if end = passValue(raw, i); end == i {
			return nil
		}
		if textIs(name, key) {
			return raw[i:end:end]
		}
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
			return nil
		}
	}
	return nil
}

// passValue returns the offset after the value at b[i] in valid text.
func passValue(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = passString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth--; depth < 0 { // after a number
				return i
			}
			i++
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return len(b)
}

// passString returns the offset after the string with its opening quote at b[i].
func passString(b []byte, i int) int {
	for at := i + 1; ; {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return len(b)
		}
		at += n + 1
		slashes := at - 2
		for slashes > i && b[slashes] == '\\' {
			slashes--
		}
		if (at-2-slashes)%2 == 0 {
			return at
		}
	}
}

func trim(raw []byte) []byte {
	raw = raw[skipSpace(raw, 0):]
	for len(raw) > 0 && skipSpace(raw[len(raw)-1:], 0) == 1 {
		raw = raw[:len(raw)-1]
	}
	return raw
}

// IsNull reports whether raw is nil, empty, only white space, or null.
func IsNull(raw []byte) bool {
	raw = trim(raw)
	return len(raw) == 0 || string(raw) == "null"
}
