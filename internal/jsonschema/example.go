package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
)

const (
	// exampleDepth bounds the nesting of an example; deeper schemas have a null.
	exampleDepth = 8
	// exampleValues bounds the values of an example: a schema can ask for exponentially many.
	exampleValues = 256
)

// Example returns a plain object that fits the properties of an object schema, the same each time: their defaults, first
// examples or first alternatives, else short values of their types. It does not follow references and is not checked
// against the schema.
func Example(schema json.RawMessage) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return json.RawMessage("{}")
	}
	e := exampler{left: exampleValues}
	raw, err := json.Marshal(e.object(s, exampleDepth))
	if err != nil { // values that were decoded can be encoded
		return json.RawMessage("{}")
	}
	return raw
}

// exampler makes at most left more values.
type exampler struct{ left int }

func (e *exampler) object(s map[string]any, depth int) map[string]any {
	o := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if e.left <= 0 {
			break
		}
		o[name] = e.value(properties[name], depth-1)
	}
	return o
}

func (e *exampler) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if e.left--; !ok || depth <= 0 || e.left < 0 {
		return nil
	}
	for _, key := range []string{"const", "default"} {
		if v, ok := s[key]; ok {
			return v
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list, _ := s[key].([]any); len(list) > 0 {
			return list[0]
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, _ := s[key].([]any); len(list) > 0 {
			return e.value(list[0], depth-1)
		}
	}
	return e.ofType(s, depth)
}

func (e *exampler) ofType(s map[string]any, depth int) any {
	kind := s["type"]
	if list, ok := kind.([]any); ok && len(list) > 0 {
		kind = list[0]
	}
	switch kind {
	case "string":
		return "example"
	case "integer", "number":
		if least, ok := s["minimum"].(float64); ok {
			return least
		}
		return 1
	case "boolean":
		return false
	case "array":
		if s["items"] == nil {
			return []any{}
		}
		return []any{e.value(s["items"], depth-1)}
	case "object":
		return e.object(s, depth)
	}
	return nil
}
