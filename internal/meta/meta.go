// Package meta takes out of what a plugin says the _meta that is not a plugin's to say: the keys that MCP keeps for
// itself, those of this host, and what a page wants of the client that shows it (see package apps).
//
//	meta.Clean([]byte(`[{"type":"text","text":"a","_meta":{"io.modelcontextprotocol/x":1,"b":2}}]`))
//	// → [{"type":"text","text":"a","_meta":{"b":2}}]
//
// Everything else stays as it was written, byte for byte.
//
// This package is internal to Sallyport and may change.
package meta

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/apps"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// maxDepth bounds how deep Clean looks for objects with a _meta: MCP has one four levels below a list of messages,
// and what is further down is data, of which the rest is not looked at.
const maxDepth = 32

// ownPrefix begins the prefix of the keys that only this host writes.
const ownPrefix = "dev.sallyport"

// Reserved reports whether a key of a _meta is not for plugins: one whose prefix has mcp or modelcontextprotocol as
// its first or second label, which covers what all revisions of MCP reserve, or is this host's; those of a trace,
// since a plugin does not say which trace something belongs to; and the labels of information flow (ifc), by which other
// hosts decide what may go where.
func Reserved(key string) bool {
	prefix, _, found := strings.Cut(jsonraw.Fold(key), "/")
	prefix = strings.ToLower(prefix)
	if prefix == "ifc" || strings.HasPrefix(prefix, "ifc.") {
		return true
	}
	if !found {
		return prefix == "traceparent" || prefix == "tracestate" || prefix == "baggage"
	}
	if prefix == ownPrefix || strings.HasPrefix(prefix, ownPrefix+".") {
		return true
	}
	first, rest, _ := strings.Cut(prefix, ".")
	second, _, _ := strings.Cut(rest, ".")
	return protocols(first) || protocols(second)
}

func protocols(label string) bool { return label == "mcp" || label == "modelcontextprotocol" }

// Own is what is left of the value of one _meta. It is nil for what is no object, and for an object with a key twice,
// of which each reader could take another.
func Own(raw json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil
	}
	kept := make(jsonraw.Object, 0, len(o))
	for _, m := range o {
		if !Reserved(m.Key) {
			kept = append(kept, m)
		}
	}
	if len(kept) < len(o) {
		raw = kept.Append(nil)
	}
	raw, _ = apps.Confine(raw)
	return raw
}

// Strip treats the _meta of an object. One of which nothing can be kept goes as a whole.
func Strip(o *jsonraw.Object) {
	raw := o.Get("_meta")
	if raw == nil {
		return
	}
	if own := Own(raw); own != nil {
		o.Set("_meta", own)
		return
	}
	o.Delete("_meta")
}

// StripBelow cleans some members of an object, however deep.
func StripBelow(o *jsonraw.Object, members ...string) {
	for _, key := range members {
		if raw := o.Get(key); raw != nil {
			o.Set(key, Clean(raw))
		}
	}
}

// Set sets one key of an object's _meta: of this host's own, since nothing is taken out.
func Set(o *jsonraw.Object, key string, v json.RawMessage) {
	meta, _ := jsonraw.ParseObject(o.Get("_meta"))
	meta.Set(key, v)
	o.Set("_meta", meta.Append(nil))
}

// Clean treats every _meta in a JSON text, however deep, but not those in data: structured content, the input of a
// tool that is used, and schemas. What is left of none is {}. Text that is not JSON is returned as it is.
func Clean(raw json.RawMessage) json.RawMessage {
	if !suspect(raw) {
		return raw
	}
	return walk(raw, 0)
}

// suspect is quick, and true for every text that has a member _meta, if it were written with escapes.
func suspect(raw []byte) bool {
	return bytes.Contains(raw, []byte("_meta")) || bytes.Contains(raw, []byte(`\u00`))
}

// data are the members that are not MCP's, below which _meta is a word like any other.
func data(s *jsonraw.Scanner) bool {
	return s.KeyIs("structuredContent") || s.KeyIs("input") || s.KeyIs("inputSchema") || s.KeyIs("outputSchema")
}

func walk(raw json.RawMessage, depth int) json.RawMessage {
	if len(raw) == 0 || depth > maxDepth {
		return raw
	}
	switch raw[0] {
	case '{':
		return replace(raw, jsonraw.ScanObject(raw), func(s *jsonraw.Scanner) json.RawMessage {
			switch {
			case data(s):
				return s.Value
			case !s.KeyIs("_meta"):
				return walk(s.Value, depth+1)
			}
			if own := Own(s.Value); own != nil {
				return own
			}
			return json.RawMessage("{}")
		})
	case '[':
		return replace(raw, jsonraw.ScanArray(raw), func(s *jsonraw.Scanner) json.RawMessage { return walk(s.Value, depth+1) })
	}
	return raw
}

// replace puts other values into an object or array, and leaves all between them.
func replace(raw json.RawMessage, s jsonraw.Scanner, other func(*jsonraw.Scanner) json.RawMessage) json.RawMessage {
	var out []byte
	copied := 0
	for s.Next() {
		value := other(&s)
		if same(value, s.Value) {
			continue
		}
		at := s.Start()
		out = append(append(out, raw[copied:at]...), value...)
		copied = at + len(s.Value)
	}
	if out == nil || s.Err() != nil {
		return raw
	}
	return append(out, raw[copied:]...)
}

// same reports whether a value is the very one that was there.
func same(a, b json.RawMessage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
