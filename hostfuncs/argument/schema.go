package argument

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// maxSteps bounds how many schemas one look-up visits: references may form a web.
const maxSteps = 1000

// InSchema says why an argument has no value that a line could bind, nil if it may have one: the input
// schema of the tool does not name it, or says that it is an object or a fraction.
func InSchema(schema json.RawMessage, path []string) error {
	s := search{root: schema, left: maxSteps}
	named, fits := s.look(schema, path)
	name := strings.Join(path, ".")
	switch {
	case fits:
		return nil
	case named:
		return fmt.Errorf("argument %q is neither text, nor a whole number, nor true or false, nor a list of them", name)
	}
	return fmt.Errorf("there is no argument %q", name)
}

// search is one look-up.
type search struct {
	root json.RawMessage
	left int // schemas to visit
}

// look reports whether the schema names what is at path, and whether that may have a value.
func (s *search) look(schema json.RawMessage, path []string) (named, fits bool) {
	if s.left--; s.left < 0 || len(schema) == 0 || schema[0] != '{' {
		return len(path) == 0, len(path) == 0 && string(schema) == "true"
	}
	if len(path) == 0 {
		return true, s.mayFill(schema)
	}
	for _, next := range s.branches(schema) {
		n, f := s.look(next, path)
		named, fits = named || n, fits || f
	}
	step := rawjson.Get(schema, "properties", path[0])
	if path[0] == each {
		step = rawjson.Get(schema, "items")
	}
	if rawjson.IsNull(step) {
		return named, fits
	}
	n, f := s.look(step, path[1:])
	return named || n, fits || f
}

// branches are the schemas that hold for the same value.
func (s *search) branches(schema json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list, err := rawjson.Elements(rawjson.Get(schema, key)); err == nil {
			all = append(all, list...)
		}
	}
	for _, key := range []string{"then", "else"} {
		if raw := rawjson.Get(schema, key); !rawjson.IsNull(raw) {
			all = append(all, raw)
		}
	}
	if ref, ok := rawjson.String(rawjson.Get(schema, "$ref")); ok {
		if pointer, local := strings.CutPrefix(ref, "#/"); local {
			unescape := strings.NewReplacer("~1", "/", "~0", "~")
			names := strings.Split(pointer, "/")
			for i, n := range names {
				names[i] = unescape.Replace(n)
			}
			all = append(all, rawjson.Get(s.root, names...))
		}
	}
	return slices.DeleteFunc(all, func(raw json.RawMessage) bool { return rawjson.IsNull(raw) })
}

// mayFill reports whether a value of the schema can be text, a whole number, a boolean, or a list of them.
func (s *search) mayFill(schema json.RawMessage) bool {
	types := typesOf(schema)
	if slices.Contains(types, "array") {
		items := rawjson.Get(schema, "items")
		if rawjson.IsNull(items) || items[0] != '{' {
			return true
		}
		itemTypes := typesOf(items)
		return len(itemTypes) == 0 || slices.ContainsFunc(itemTypes, plain)
	}
	if len(types) > 0 {
		return slices.ContainsFunc(types, plain)
	}
	branches := s.branches(schema)
	if len(branches) == 0 {
		return true
	}
	return slices.ContainsFunc(branches, func(b json.RawMessage) bool { _, fits := s.look(b, nil); return fits })
}

func plain(kind string) bool {
	return kind == "string" || kind == "integer" || kind == "boolean" || kind == "number"
}

// typesOf are the types that a schema names; none is any.
func typesOf(schema json.RawMessage) []string {
	raw := rawjson.Get(schema, "type")
	if one, ok := rawjson.String(raw); ok {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // anything else says nothing
	return many
}
