package clean

import (
	"bytes"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// maxDepth bounds the walk; deeper values stay as they are, and readers refuse them.
const maxDepth = 512

// JSON cleans the strings of a valid JSON value, also the names of members. Members that leave names keep
// their values as they are; nil leaves none.
func JSON(raw json.RawMessage, leave func(member string) bool) (json.RawMessage, int) {
	if !suspectJSON(raw) {
		return raw, 0
	}
	return walk(raw, leave, 0)
}

// suspectJSON is suspect for strings that are written with escapes.
func suspectJSON(raw []byte) bool {
	for i, c := range raw {
		switch {
		case c >= 0x7f:
			return true
		case c == '\\' && i+1 < len(raw) && (raw[i+1] == 'u' || raw[i+1] == 'b' || raw[i+1] == 'f'):
			return true
		}
	}
	return false
}

func walk(raw json.RawMessage, leave func(string) bool, depth int) (json.RawMessage, int) {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 || depth > maxDepth || !suspectJSON(raw) {
		return raw, 0
	}
	switch raw[0] {
	case '"':
		s, ok := rawjson.String(raw)
		text, n := Text(s)
		if !ok || n == 0 {
			return raw, 0
		}
		return rawjson.AppendString(nil, text), n
	case '{':
		return walkObject(raw, leave, depth)
	case '[':
		return walkArray(raw, leave, depth)
	}
	return raw, 0
}

func walkObject(raw json.RawMessage, leave func(string) bool, depth int) (json.RawMessage, int) {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return raw, 0
	}
	removed := 0
	var kept rawjson.Object
	for _, m := range o {
		key, n := Text(m.Key)
		removed += n
		value := m.Value
		if leave == nil || !leave(m.Key) {
			var more int
			value, more = walk(value, leave, depth+1)
			removed += more
		}
		if n > 0 && (key == "" || o.Get(key) != nil || kept.Get(key) != nil) {
			continue // it hid as another one
		}
		kept = append(kept, rawjson.Member{Key: key, Value: value})
	}
	if removed == 0 {
		return raw, 0
	}
	return kept.Append(nil), removed
}

func walkArray(raw json.RawMessage, leave func(string) bool, depth int) (json.RawMessage, int) {
	elements, err := rawjson.Elements(raw)
	if err != nil {
		return raw, 0
	}
	removed := 0
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		e, n := walk(e, leave, depth+1)
		removed += n
		out = append(out, e...)
	}
	if removed == 0 {
		return raw, 0
	}
	return append(out, ']'), removed
}

// Members takes out of the texts in some members of an object what nobody sees, and returns how many characters.
func Members(o *rawjson.Object, members ...string) (removed int) {
	for _, key := range members {
		if raw := o.Get(key); raw != nil {
			if text, n := JSON(raw, nil); n > 0 {
				o.Set(key, text)
				removed += n
			}
		}
	}
	return removed
}
