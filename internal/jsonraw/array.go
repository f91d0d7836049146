package jsonraw

import (
	"bytes"
	"encoding/json"
)

// Array returns an array of raw elements.
func Array(items []json.RawMessage) json.RawMessage {
	size := 2
	for _, item := range items {
		size += len(item) + 1
	}
	array := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, item...)
	}
	return append(array, ']')
}

// Strings returns an array of strings.
func Strings(list []string) json.RawMessage {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = AppendString(out, s)
	}
	return append(out, ']')
}

// OneLine replaces the line ends between the tokens of a JSON text, in place. Within strings JSON allows none.
// Transports rely on it.
func OneLine(text []byte) []byte {
	for _, end := range []byte{'\n', '\r'} {
		for rest := text; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return text
}
