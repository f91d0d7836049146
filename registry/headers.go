package registry

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// headerKey marks a property of an input schema that clients mirror in an HTTP header.
const headerKey = "x-mcp-header"

// headerCheck walks an input schema and finds the marks that clients would refuse the tool for.
type headerCheck struct {
	seen map[string]bool // lower-cased header names
}

// checkHeaders reports the first mark that is not valid: a name must be a token of RFC 9110 that no
// other property has, on a string, integer or boolean that only properties lead to.
func checkHeaders(schema json.RawMessage) error {
	if !strings.Contains(string(schema), headerKey) {
		return nil
	}
	h := headerCheck{seen: map[string]bool{}}
	return h.object(schema, "")
}

// object checks the properties of a schema; a mark anywhere else in it is an error.
func (h *headerCheck) object(schema json.RawMessage, at string) error {
	o, err := rawjson.ParseObject(schema)
	if err != nil {
		return nil // true, false: nothing to mark
	}
	for _, m := range o {
		switch m.Key {
		case "properties":
			if err := h.properties(m.Value, at); err != nil {
				return err
			}
		case headerKey:
			if err := h.mark(o, m.Value, at); err != nil {
				return err
			}
		case "const", "default", "enum", "examples", "description", "title":
		default:
			if marked(m.Value) {
				return fmt.Errorf("%s stands below %q: only properties may lead to it", headerKey, m.Key)
			}
		}
	}
	return nil
}

func (h *headerCheck) properties(raw json.RawMessage, at string) error {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil // the schema's own check reports it
	}
	for _, m := range o {
		if err := h.object(m.Value, at+"/"+m.Key); err != nil {
			return err
		}
	}
	return nil
}

func (h *headerCheck) mark(schema rawjson.Object, value json.RawMessage, at string) error {
	name, ok := rawjson.String(value)
	if !ok || !isToken(name) {
		return fmt.Errorf("%s of %q is not a header name", headerKey, at)
	}
	if at == "" {
		return fmt.Errorf("%s cannot stand at the root", headerKey)
	}
	if lower := strings.ToLower(name); h.seen[lower] {
		return fmt.Errorf("%s %q is used twice", headerKey, name)
	} else {
		h.seen[lower] = true
	}
	switch kind, _ := rawjson.String(schema.Get("type")); kind {
	case "string", "integer", "boolean":
		return nil
	}
	return fmt.Errorf("%s of %q: its type is not string, integer or boolean", headerKey, at)
}

// marked reports whether a key of the mark's name stands anywhere inside raw.
func marked(raw json.RawMessage) bool {
	if o, err := rawjson.ParseObject(raw); err == nil {
		for _, m := range o {
			if m.Key == headerKey || marked(m.Value) {
				return true
			}
		}
		return false
	}
	elements, err := rawjson.Elements(raw)
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

// isToken reports whether s is a token of RFC 9110 §5.6.2.
func isToken(s string) bool {
	for _, r := range s {
		if !isAlphanumeric(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return s != ""
}
