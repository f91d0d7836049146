package sallyport

import (
	"bytes"
	"encoding/json"
)

// object writes a JSON object, its members in the order of the calls. The zero value is empty.
type object struct{ buf []byte }

func (o *object) raw(key string, value []byte) {
	if len(o.buf) > 0 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, quote(key)...)
	o.buf = append(o.buf, ':')
	o.buf = append(o.buf, value...)
}

func (o *object) text(key, value string) { o.raw(key, quote(value)) }

// optional writes a text that is not empty.
func (o *object) optional(key, value string) {
	if value != "" {
		o.text(key, value)
	}
}

func (o *object) value(key string, value any) error {
	raw, err := marshal(value)
	if err == nil {
		o.raw(key, raw)
	}
	return err
}

func (o *object) bytes() []byte {
	out := make([]byte, 0, len(o.buf)+2)
	out = append(out, '{')
	out = append(out, o.buf...)
	return append(out, '}')
}

// array joins JSON values.
func array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func quote(s string) []byte {
	raw, err := marshal(s)
	if err != nil { // a string always encodes
		return []byte(`""`)
	}
	return raw
}
