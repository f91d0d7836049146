package untrusted

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// maxDepth limits the search of Clean for _meta. MCP has it at most four levels below a list of messages; deeper
// objects are data.
const maxDepth = 32

// ownPrefix starts the prefix of keys that only this host writes.
const ownPrefix = "dev.sallyport"

// ReservedKey reports whether a _meta key is denied to plugins: keys with a prefix that has mcp or modelcontextprotocol as
// first or second label, which covers all revisions of MCP; keys of this host; trace context keys, as a plugin does
// not choose the trace; and information flow labels (ifc), which other hosts use for access decisions.
func ReservedKey(key string) bool {
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

// OwnMeta returns the allowed rest of one _meta value. It is nil for non-objects and for objects with a duplicate key,
// which parsers resolve differently.
func OwnMeta(raw json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil
	}
	kept := make(jsonraw.Object, 0, len(o))
	for _, m := range o {
		if !ReservedKey(m.Key) {
			kept = append(kept, m)
		}
	}
	if len(kept) < len(o) {
		raw = kept.Append(nil)
	}
	raw, _ = ConfineUI(raw)
	return raw
}

// StripMeta cleans the _meta of an object, and removes it if nothing is left.
func StripMeta(o *jsonraw.Object) {
	raw := o.Get("_meta")
	if raw == nil {
		return
	}
	if own := OwnMeta(raw); own != nil {
		o.Set("_meta", own)
		return
	}
	o.Delete("_meta")
}

// StripMetaBelow cleans every _meta in the given members of an object.
func StripMetaBelow(o *jsonraw.Object, members ...string) {
	for _, key := range members {
		if raw := o.Get(key); raw != nil {
			o.Set(key, CleanMeta(raw))
		}
	}
}

// SetMeta sets one key in an object's _meta. It does not check for reserved keys, as the host writes them.
func SetMeta(o *jsonraw.Object, key string, v json.RawMessage) {
	meta, _ := jsonraw.ParseObject(o.Get("_meta"))
	meta.Set(key, v)
	o.Set("_meta", meta.Append(nil))
}

// CleanMeta cleans every _meta in a JSON text, except in data: structured content, tool input and schemas. A removed
// value becomes {}. Invalid JSON is returned unchanged.
func CleanMeta(raw json.RawMessage) json.RawMessage {
	if !suspect(raw) {
		return raw
	}
	return walk(raw, 0)
}

// suspect is a fast check that is true for every text with a _meta member, even if written with escapes.
func suspect(raw []byte) bool {
	return bytes.Contains(raw, []byte("_meta")) || bytes.Contains(raw, []byte(`\u00`))
}

// data reports whether a member holds opaque data, in which _meta has no special meaning.
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
			if own := OwnMeta(s.Value); own != nil {
				return own
			}
			return json.RawMessage("{}")
		})
	case '[':
		return replace(raw, jsonraw.ScanArray(raw), func(s *jsonraw.Scanner) json.RawMessage { return walk(s.Value, depth+1) })
	}
	return raw
}

// replace replaces values of an object or array and keeps all bytes between them.
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

// same reports whether a and b are the same slice, so that the value is unchanged.
func same(a, b json.RawMessage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
