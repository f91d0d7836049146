package command

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// schema is the input schema of a tool: the arguments that placeholders may name.
type schema struct {
	properties map[string]json.RawMessage
	names      []string // in the order of the file
	used       map[string]bool
}

func parseSchema(at place, raw json.RawMessage) (*schema, error) {
	s := &schema{properties: map[string]json.RawMessage{}, used: map[string]bool{}}
	if raw == nil {
		return s, nil
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil || string(o.Get("type")) != `"object"` {
		return nil, at.fail("inputSchema is a JSON Schema of type: object")
	}
	if o.Get("properties") == nil {
		return s, nil
	}
	properties, err := jsonraw.ParseObject(o.Get("properties"))
	if err != nil {
		return nil, at.key("properties").fail("properties has one NAME: SCHEMA for each argument")
	}
	for _, m := range properties {
		if !isName(m.Key) {
			return nil, at.key("properties").key(m.Key).fail("the argument name %q is not of letters, digits, - and _", clip(m.Key))
		}
		s.properties[m.Key] = m.Value
		s.names = append(s.names, m.Key)
	}
	return s, nil
}

// isName reports whether an argument's name can be written as a placeholder.
func isName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// unused returns the first argument that no placeholder names; "" if there is none.
func (s *schema) unused() string {
	for _, name := range s.names {
		if !s.used[name] {
			return name
		}
	}
	return ""
}

// slot is the position of one argument of the caller.
type slot struct {
	name   string
	kind   string // string, integer, number, boolean, object, or array
	of     string // the kind of an array's elements
	base64 bool   // the value is bytes in base64
}

// slot returns the slot of a placeholder.
func (s *schema) slot(at place, name string) (*slot, error) {
	property, ok := s.properties[name]
	if !ok {
		return nil, at.fail("the placeholder {%s} names no property of inputSchema%s", clip(name), suggestion(name, s.names))
	}
	s.used[name] = true
	v := &slot{name: name, kind: typeOf(property), of: typeOf(jsonraw.Get(property, "items"))}
	encoding, _ := jsonraw.String(jsonraw.Get(property, "contentEncoding"))
	v.base64 = v.kind == "string" && encoding == "base64"
	if v.kind == "" {
		return nil, at.fail("the argument %q has no single type: write type: string, integer, number, boolean, array or object in its schema", clip(name))
	}
	return v, nil
}

// typeOf returns the only type of a schema beside null, or "".
func typeOf(property json.RawMessage) string {
	raw := jsonraw.Get(property, "type")
	names := []json.RawMessage{raw}
	if list, err := jsonraw.Elements(raw); err == nil {
		names = slices.DeleteFunc(list, func(n json.RawMessage) bool { return string(n) == `"null"` })
	}
	if len(names) != 1 {
		return ""
	}
	name, _ := jsonraw.String(names[0])
	if !slices.Contains([]string{"string", "integer", "number", "boolean", "object", "array"}, name) {
		return ""
	}
	return name
}

// isScalar reports whether a value of this type is one argument of a program.
func isScalar(kind string) bool { return kind != "" && kind != "object" && kind != "array" }

// single returns an error unless the slot takes one plain value.
func (s *slot) single(at place) error {
	if !isScalar(s.kind) {
		return at.fail("the argument %q is of type %s, and only one plain value goes here", clip(s.name), s.kind)
	}
	return nil
}

// listed returns an error unless the slot takes plain values: one, or an array of them.
func (s *slot) listed(at place) error {
	if s.kind == "array" && isScalar(s.of) || isScalar(s.kind) {
		return nil
	}
	if s.kind == "array" {
		return at.fail("the elements of %q have no plain type: write items: {type: string} in its schema", clip(s.name))
	}
	return at.fail("the argument %q is of type object, which is no argument of a program: pass it by stdin", clip(s.name))
}

// given are the arguments of one call. Each is read once, in however many places the tool file names it.
type given struct {
	values map[string]json.RawMessage // without those that are null
	texts  map[string][]string
}

// read returns the arguments of a call that the tool file names.
func (t *tool) read(arguments json.RawMessage) *given {
	g := &given{map[string]json.RawMessage{}, map[string][]string{}}
	for s := jsonraw.ScanObject(arguments); s.Next(); {
		if name := s.KeyString(); t.used[name] && !jsonraw.IsNull(s.Value) {
			g.values[name] = s.Value
		}
	}
	return g
}

// textsOf returns the values of a slot as arguments of a program; none if it is absent.
func (g *given) textsOf(s *slot) ([]string, error) {
	raw, texts := g.values[s.name], g.texts[s.name]
	if raw == nil || texts != nil {
		return texts, nil
	}
	texts, err := s.texts(raw)
	g.texts[s.name] = texts
	return texts, err
}

// texts returns a value as arguments of a program.
func (s *slot) texts(raw json.RawMessage) ([]string, error) {
	if s.kind != "array" {
		text, err := s.plain(raw)
		return []string{text}, err
	}
	texts := []string{}
	list := jsonraw.ScanArray(raw)
	for list.Next() {
		if len(texts) == maxRepeat {
			return nil, overRepeat()
		}
		text, err := s.plain(list.Value)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if list.Err() != nil {
		return nil, invalid("the argument %q is no list", s.name)
	}
	return texts, nil
}

// plain returns one plain value as text.
func (s *slot) plain(raw json.RawMessage) (string, error) {
	if text, ok := jsonraw.String(raw); ok {
		if hasNUL(text) {
			return "", invalid("the argument %q has a NUL byte, which cannot be passed to a program", s.name)
		}
		return text, nil
	}
	if jsonraw.IsNull(raw) || jsonraw.IsObject(raw) || jsonraw.IsArray(raw) {
		return "", invalid("the argument %q is no plain value", s.name)
	}
	return string(raw), nil // a number or a boolean
}

// content returns the value of a slot as the bytes of a stream: a string itself, other values as JSON; nil if it is
// absent.
func (g *given) content(s *slot) ([]byte, error) {
	raw := g.values[s.name]
	if raw == nil {
		return nil, nil
	}
	text, ok := jsonraw.String(raw)
	switch {
	case !ok:
		return raw, nil
	case !s.base64:
		return []byte(text), nil
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid("the argument %q is not base64", s.name)
	}
	return content, nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// invalid returns the error of a call whose arguments cannot be passed to the program.
func invalid(format string, args ...any) error {
	return endOf(runtime.KindInvalid, format, args...)
}
