// Package jsontext encodes JSON objects member by member, in the order of the calls.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object under construction, with members in the order of the calls. The zero value is empty.
type Object struct{ buf []byte }

// Raw adds a member with a JSON value.
func (o *Object) Raw(key string, value []byte) {
	if len(o.buf) > 0 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, Quote(key)...)
	o.buf = append(o.buf, ':')
	o.buf = append(o.buf, value...)
}

// Text adds a member with a text value.
func (o *Object) Text(key, value string) { o.Raw(key, Quote(value)) }

// Optional adds a member with a text value unless it is empty.
func (o *Object) Optional(key, value string) {
	if value != "" {
		o.Text(key, value)
	}
}

// Value adds a member with a value that is encoded as JSON.
func (o *Object) Value(key string, value any) error {
	raw, err := Marshal(value)
	if err == nil {
		o.Raw(key, raw)
	}
	return err
}

// Members adds members that are already JSON, without braces around them.
func (o *Object) Members(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if len(o.buf) > 0 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, raw...)
}

// Merge adds the members of another object.
func (o *Object) Merge(other *Object) { o.Members(other.buf) }

// Empty reports whether there are no members.
func (o *Object) Empty() bool { return len(o.buf) == 0 }

// Bytes returns the object as JSON.
//
//go:noinline
func (o *Object) Bytes() []byte {
	out := make([]byte, 0, len(o.buf)+2)
	out = append(out, '{')
	out = append(out, o.buf...)
	return append(out, '}')
}

// Array returns a JSON array of JSON values.
//
//go:noinline
func Array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// Marshal is json.Marshal without escapes for <, > and &.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Quote returns a text as a JSON string, as encoding/json encodes it without escapes for <, > and &.
func Quote(s string) []byte {
	out, from := append(make([]byte, 0, len(s)+len(s)/8+2), '"'), 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c <= '~' {
			continue
		}
		letter := escape(c)
		if letter == 0 {
			return quoteAny(s)
		}
		out = append(append(out, s[from:i]...), '\\', letter)
		from = i + 1
	}
	return append(append(out, s[from:]...), '"')
}

// escape returns the letter after a backslash that stands for c, or 0 if there is none.
func escape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

// quoteAny is Quote for texts with other characters than those of ASCII that print or have an escape.
func quoteAny(s string) []byte {
	raw, err := Marshal(s)
	if err != nil { // a string always encodes
		return []byte(`""`)
	}
	return raw
}
