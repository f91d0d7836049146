// Package jsontext writes JSON objects member by member, so that their order is that of the code.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Object writes a JSON object, its members in the order of the calls. The zero value is empty.
type Object struct{ buf []byte }

// Raw writes a member whose value is JSON.
func (o *Object) Raw(key string, value []byte) {
	if len(o.buf) > 0 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, Quote(key)...)
	o.buf = append(o.buf, ':')
	o.buf = append(o.buf, value...)
}

// Text writes a member whose value is a text.
func (o *Object) Text(key, value string) { o.Raw(key, Quote(value)) }

// Optional writes a text that is not empty.
func (o *Object) Optional(key, value string) {
	if value != "" {
		o.Text(key, value)
	}
}

// Value writes a member whose value is encoded.
func (o *Object) Value(key string, value any) error {
	raw, err := Marshal(value)
	if err == nil {
		o.Raw(key, raw)
	}
	return err
}

// Members writes members that are JSON already, without the braces around them.
func (o *Object) Members(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if len(o.buf) > 0 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, raw...)
}

// Merge writes the members of another object.
func (o *Object) Merge(other *Object) { o.Members(other.buf) }

// Empty tells that nothing was written yet.
func (o *Object) Empty() bool { return len(o.buf) == 0 }

// Bytes is the object as JSON.
func (o *Object) Bytes() []byte {
	out := make([]byte, 0, len(o.buf)+2)
	out = append(out, '{')
	out = append(out, o.buf...)
	return append(out, '}')
}

// Array joins JSON values.
func Array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// Marshal is json.Marshal that leaves <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Quote is a text as JSON.
func Quote(s string) []byte {
	if plainText(s) {
		return append(append(append(make([]byte, 0, len(s)+2), '"'), s...), '"')
	}
	raw, err := Marshal(s)
	if err != nil { // a string always encodes
		return []byte(`""`)
	}
	return raw
}

// plainText tells whether a string stands in JSON as it is.
func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > 0x7e {
			return false
		}
	}
	return true
}
