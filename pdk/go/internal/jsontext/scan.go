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
func Members(raw []byte, f func(key string, value []byte) error) error {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return errSyntax
	}
	if i = space(raw, i+1); i < len(raw) && raw[i] == '}' {
		return atEnd(raw, i+1)
	}
	for {
		key, value, end := member(raw, i)
		if end < 0 {
			return errSyntax
		}
		name, ok := Unquote(key)
		if !ok {
			return errSyntax
		}
		if err := f(name, value); err != nil {
			return err
		}
		switch i = space(raw, end); {
		case i < len(raw) && raw[i] == ',':
			i = space(raw, i+1)
		case i < len(raw) && raw[i] == '}':
			return atEnd(raw, i+1)
		default:
			return errSyntax
		}
	}
}

// Elements calls f with each element of an array, in the same way as Members.
func Elements(raw []byte, f func(value []byte) error) error {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return errSyntax
	}
	if i = space(raw, i+1); i < len(raw) && raw[i] == ']' {
		return atEnd(raw, i+1)
	}
	for {
		end := skip(raw, i)
		if end < 0 {
			return errSyntax
		}
		if err := f(raw[i:end]); err != nil {
			return err
		}
		switch i = space(raw, end); {
		case i < len(raw) && raw[i] == ',':
			i = space(raw, i+1)
		case i < len(raw) && raw[i] == ']':
			return atEnd(raw, i+1)
		default:
			return errSyntax
		}
	}
}

// member returns the key and value at i, and the index of their end, or -1 if they are invalid.
func member(raw []byte, i int) (key, value []byte, end int) {
	k := text(raw, i)
	if k < 0 {
		return nil, nil, -1
	}
	colon := space(raw, k)
	if colon == len(raw) || raw[colon] != ':' {
		return nil, nil, -1
	}
	v := space(raw, colon+1)
	if end = skip(raw, v); end < 0 {
		return nil, nil, -1
	}
	return raw[i:k], raw[v:end], end
}

func atEnd(raw []byte, i int) error {
	if space(raw, i) != len(raw) {
		return errSyntax
	}
	return nil
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

// skip returns the end of the value at i, or -1.
func skip(raw []byte, i int) int {
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
