package jsonschema

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// Unseen finds invisible characters in the names and compared values of a schema: property names, patterns, enum,
// const, required names and references. It distinguishes keywords from properties of the same name by their
// position. at is the JSON Pointer of the first. The depth is limited; takeCensus refuses deeper schemas.
func Unseen(schema json.RawMessage) (at string, found bool) {
	if sanitize.Count(schema) == 0 {
		return "", false
	}
	var u unseen
	u.schema(schema, "", 0)
	return u.at, u.found
}

type unseen struct {
	at    string
	found bool
}

// compared reports whether a keyword's value is more than description: a name, a reference, or compared with data.
func compared(key string) bool {
	switch key {
	case "enum", "const", "pattern", "required", "dependentRequired", "format", "type",
		"$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor", "$schema", "x-mcp-header":
		return true
	}
	return false
}

func (u *unseen) note(at string, raw []byte) {
	if !u.found && sanitize.Count(raw) > 0 {
		u.at, u.found = at, true
	}
}

// schema walks a schema. Other values are text for people.
func (u *unseen) schema(raw json.RawMessage, at string, depth int) {
	if u.found || depth > maxDepth || !jsonraw.IsObject(raw) {
		return
	}
	for s := jsonraw.ScanObject(raw); s.Next(); {
		key, value := s.KeyString(), s.Value
		below := at + "/" + jsonraw.EscapePointer(key)
		switch position := keywords[key]; {
		case compared(key):
			u.note(below, value)
		case position == schemaMap:
			u.members(value, below, depth)
		case position == schemaList || position == schemaOrArr && jsonraw.IsArray(value):
			u.list(value, below, depth)
		case position == oneSchema || position == schemaOrArr:
			u.schema(value, below, depth+1)
		}
	}
}

// members walks an object of schemas, with names of properties or definitions as keys.
func (u *unseen) members(raw json.RawMessage, at string, depth int) {
	if !jsonraw.IsObject(raw) {
		return
	}
	for s := jsonraw.ScanObject(raw); s.Next(); {
		key := s.KeyString()
		below := at + "/" + jsonraw.EscapePointer(key)
		u.note(below, jsonraw.AppendString(nil, key))
		if jsonraw.IsArray(s.Value) { // of dependencies
			u.note(below, s.Value)
		}
		u.schema(s.Value, below, depth+1)
	}
}

func (u *unseen) list(raw json.RawMessage, at string, depth int) {
	s := jsonraw.ScanArray(raw)
	for i := 0; s.Next(); i++ {
		u.schema(s.Value, at+"/"+strconv.Itoa(i), depth+1)
	}
}
