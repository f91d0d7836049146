package untrusted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// mark is the annotation key in a property's schema.
const mark = "x-mcp-header"

// HeaderParam is one tool argument that clients repeat in a header.
type HeaderParam struct {
	Header string   // header name after "Mcp-Param-"; compared without case
	Path   []string // keys from the arguments object down to the value
	Type   string   // string, integer or boolean
}

// FindHeaderParams returns the annotated arguments of an input schema in schema order, or nil if there are none. The error is
// the first annotation for which clients would refuse the tool: a name must be a unique token of RFC 9110, on a
// string, integer or boolean that is reachable by properties only.
func FindHeaderParams(schema json.RawMessage) ([]HeaderParam, error) {
	if !mentions(schema) {
		return nil, nil
	}
	f := finder{seen: map[string]bool{}}
	if err := f.object(schema, nil); err != nil {
		return nil, err
	}
	return f.params, nil
}

// mentions reports whether a schema may have an annotation, also one whose key is written with escapes.
func mentions(schema []byte) bool {
	return bytes.Contains(schema, []byte(mark)) || bytes.Contains(schema, []byte(`\u`))
}

type finder struct {
	params []HeaderParam
	seen   map[string]bool // lower-cased header names
}

// object reads the properties of a schema. An annotation anywhere else in it is an error.
func (f *finder) object(schema json.RawMessage, path []string) error {
	o, err := jsonraw.ParseObject(schema)
	if err != nil {
		return nil // boolean schema, no annotations
	}
	for _, m := range o {
		switch m.Key {
		case "properties":
			if err := f.properties(m.Value, path); err != nil {
				return err
			}
		case mark:
			if err := f.param(o, m.Value, path); err != nil {
				return err
			}
		case "const", "default", "enum", "examples", "description", "title":
		default:
			if marked(m.Value) {
				return fmt.Errorf("%s stands below %q: only properties may lead to it", mark, m.Key)
			}
		}
	}
	return nil
}

func (f *finder) properties(raw json.RawMessage, path []string) error {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil // reported by schema validation
	}
	for _, m := range o {
		if err := f.object(m.Value, append(path[:len(path):len(path)], m.Key)); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) param(schema jsonraw.Object, value json.RawMessage, path []string) error {
	at := strings.Join(append([]string{""}, path...), "/")
	name, ok := jsonraw.String(value)
	if !ok || !isToken(name) {
		return fmt.Errorf("%s of %q is not a header name", mark, at)
	}
	if len(path) == 0 {
		return fmt.Errorf("%s cannot stand at the root", mark)
	}
	lower := strings.ToLower(name)
	if f.seen[lower] {
		return fmt.Errorf("%s %q is used twice", mark, name)
	}
	f.seen[lower] = true
	switch kind, _ := jsonraw.String(schema.Get("type")); kind {
	case "string", "integer", "boolean":
		f.params = append(f.params, HeaderParam{Header: name, Path: path, Type: kind})
		return nil
	}
	return fmt.Errorf("%s of %q: its type is not string, integer or boolean", mark, at)
}

// marked reports whether the annotation key occurs anywhere in raw.
func marked(raw json.RawMessage) bool {
	if o, err := jsonraw.ParseObject(raw); err == nil {
		for _, m := range o {
			if m.Key == mark || marked(m.Value) {
				return true
			}
		}
		return false
	}
	elements, err := jsonraw.Elements(raw)
	if err != nil {
		return false
	}
	for _, e := range elements {
		if marked(e) {
			return true
		}
	}
	return false
}

// tokenChars are the characters of a token, RFC 9110 §5.6.2.
const tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

func isToken(s string) bool { return s != "" && strings.Trim(s, tokenChars) == "" }
