package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// errSyntax reports invalid JSON, without details: the host sends none.
var errSyntax = errors.New("not a JSON object")

// Members calls f with each member of an object, in order. It finds the bounds of values without validating them. An
// error of f stops it.
//
//go:noinline
func Members(raw []byte, f func(key string, value []byte) error) error {
	return whole(raw, func(i int) (int, error) {
		return ScanObject(raw, i, func(key []byte, at int) (int, error) {
			name, ok := Unquote(key)
			end := Skip(raw, at)
			if !ok || end < 0 {
				return 0, errSyntax
			}
			return end, f(name, raw[at:end])
		})
	})
}

// Elements calls f with each element of an array, in the same way as Members.
//
//go:noinline
func Elements(raw []byte, f func(value []byte) error) error {
	return whole(raw, func(i int) (int, error) {
		return ScanArray(raw, i, func(at int) (int, error) {
			end := Skip(raw, at)
			if end < 0 {
				return 0, errSyntax
			}
			return end, f(raw[at:end])
		})
	})
}

// whole calls scan with the start of the only value in raw; scan returns its end.
func whole(raw []byte, scan func(i int) (end int, err error)) error {
	end, err := scan(space(raw, 0))
	if err == nil && space(raw, end) != len(raw) {
		err = errSyntax
	}
	return err
}

// ScanObject calls f with the quoted key of each member of the object at i, and the start of its value. f returns the end of
// the value, as ScanObject that of the object.
func ScanObject(raw []byte, i int, f func(key []byte, at int) (end int, err error)) (end int, err error) {
	return list(raw, i, '{', '}', func(at int) (int, error) {
		k := text(raw, at)
		if k < 0 {
			return 0, errSyntax
		}
		colon := space(raw, k)
		if colon == len(raw) || raw[colon] != ':' {
			return 0, errSyntax
		}
		return f(raw[at:k], space(raw, colon+1))
	})
}

// ScanArray calls f with the start of each element of the array at i. f returns the end of the element, as ScanArray that of the
// array.
func ScanArray(raw []byte, i int, f func(at int) (end int, err error)) (end int, err error) {
	return list(raw, i, '[', ']', f)
}

// list calls f with the start of each item between two brackets.
func list(raw []byte, i int, opening, closing byte, f func(at int) (end int, err error)) (end int, err error) {
	if i >= len(raw) || raw[i] != opening {
		return 0, errSyntax
	}
	if i = space(raw, i+1); i < len(raw) && raw[i] == closing {
		return i + 1, nil
	}
	for {
		if end, err = f(i); err != nil {
			return 0, err
		}
		switch i = space(raw, end); {
		case i < len(raw) && raw[i] == ',':
			i = space(raw, i+1)
		case i < len(raw) && raw[i] == closing:
			return i + 1, nil
		default:
			return 0, errSyntax
		}
	}
}

func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// text returns the end of the string at i, or -1.
func text(raw []byte, i int) int {
	if i >= len(raw) || raw[i] != '"' {
		return -1
	}
	for i++; i < len(raw); {
		quote := bytes.IndexByte(raw[i:], '"')
		if quote < 0 {
			return -1
		}
		escape := bytes.IndexByte(raw[i:i+quote], '\\')
		if escape < 0 {
			return i + quote + 1
		}
		i += escape + 2
	}
	return -1
}

// Skip returns the end of the value at i, or -1 if there is none. It does not validate the value.
func Skip(raw []byte, i int) int {
	if i >= len(raw) {
		return -1
	}
	switch raw[i] {
	case '"':
		return text(raw, i)
	case '{', '[':
		return nested(raw, i)
	}
	start := i
	for i < len(raw) && raw[i] != ',' && raw[i] != '}' && raw[i] != ']' && raw[i] > ' ' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func nested(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			if i = text(raw, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return -1
}

// Unquote decodes a JSON string.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inside := raw[1 : len(raw)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}
