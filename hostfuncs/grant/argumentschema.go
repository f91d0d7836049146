package grant

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// maxSchemas bounds the schemas that one lookup visits: references may be cyclic.
const maxSchemas = 1000

// CheckArgument returns nil if the argument at path may have a value that a grant binds. The error says that the tool's
// input schema does not name the argument, or allows only types without values, such as objects.
func CheckArgument(schema json.RawMessage, path []string) error {
	s := schemaSearch{root: schema, left: maxSchemas}
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

// schemaSearch is one lookup.
type schemaSearch struct {
	root json.RawMessage
	left int // schemas left to visit
}

// look reports whether the schema names the argument at path, and whether it may have a value.
func (s *schemaSearch) look(schema json.RawMessage, path []string) (named, fits bool) {
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
	step := jsonraw.Get(schema, "properties", path[0])
	if path[0] == everyElement {
		step = jsonraw.Get(schema, "items")
	}
	if jsonraw.IsNull(step) {
		return named, fits
	}
	n, f := s.look(step, path[1:])
	return named || n, fits || f
}

// branches returns the subschemas that apply to the same value.
func (s *schemaSearch) branches(schema json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list, err := jsonraw.Elements(jsonraw.Get(schema, key)); err == nil {
			all = append(all, list...)
		}
	}
	for _, key := range []string{"then", "else"} {
		if raw := jsonraw.Get(schema, key); !jsonraw.IsNull(raw) {
			all = append(all, raw)
		}
	}
	if ref, ok := jsonraw.String(jsonraw.Get(schema, "$ref")); ok {
		if pointer, local := strings.CutPrefix(ref, "#/"); local {
			unescape := strings.NewReplacer("~1", "/", "~0", "~")
			names := strings.Split(pointer, "/")
			for i, n := range names {
				names[i] = unescape.Replace(n)
			}
			all = append(all, jsonraw.Get(s.root, names...))
		}
	}
	return slices.DeleteFunc(all, func(raw json.RawMessage) bool { return jsonraw.IsNull(raw) })
}

// mayFill reports whether a value of the schema can be text, a whole number, a boolean, or a list of them.
func (s *schemaSearch) mayFill(schema json.RawMessage) bool {
	types := schemaTypes(schema)
	if slices.Contains(types, "array") {
		items := jsonraw.Get(schema, "items")
		if jsonraw.IsNull(items) || items[0] != '{' {
			return true
		}
		itemTypes := schemaTypes(items)
		return len(itemTypes) == 0 || slices.ContainsFunc(itemTypes, bindableType)
	}
	if len(types) > 0 {
		return slices.ContainsFunc(types, bindableType)
	}
	branches := s.branches(schema)
	if len(branches) == 0 {
		return true
	}
	return slices.ContainsFunc(branches, func(b json.RawMessage) bool { _, fits := s.look(b, nil); return fits })
}

func bindableType(kind string) bool {
	return kind == "string" || kind == "integer" || kind == "boolean" || kind == "number"
}

// schemaTypes returns the types that a schema names. Empty allows any type.
func schemaTypes(schema json.RawMessage) []string {
	raw := jsonraw.Get(schema, "type")
	if one, ok := jsonraw.String(raw); ok {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // any other form restricts nothing
	return many
}
