package extism

import (
	"bytes"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// appendArray appends a JSON array of the elements, each mapped by f.
func appendArray(dst []byte, elements []json.RawMessage, f func(json.RawMessage) json.RawMessage) json.RawMessage {
	dst = append(dst, '[')
	for i, one := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, f(one)...)
	}
	return append(dst, ']')
}

// contentOf normalizes one content block or an array of them.
func contentOf(raw json.RawMessage) json.RawMessage {
	if elements, err := jsonraw.Elements(raw); err == nil {
		return appendArray(nil, elements, contentBlock)
	}
	return contentBlock(raw)
}

// contentBlock drops null members, which the bindings of some languages write for absent ones, and adds the type of a
// block that has only text.
func contentBlock(raw json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return raw
	}
	changed := dropNulls(&o)
	if o.Get("type") == nil && o.Get("text") != nil {
		o = append(jsonraw.Object{{Key: "type", Value: json.RawMessage(`"text"`)}}, o...)
		changed = true
	}
	if !changed {
		return raw
	}
	return o.Append(nil)
}

// dropNulls removes null members and reports whether there were any.
func dropNulls(o *jsonraw.Object) bool {
	kept := make(jsonraw.Object, 0, len(*o)+1)
	for _, m := range *o {
		if !jsonraw.IsNull(m.Value) {
			kept = append(kept, m)
		}
	}
	changed := len(kept) != len(*o)
	*o = kept
	return changed
}

// tidyResult drops null members from a result, given as text and as an object, and normalizes its blocks: those of a
// tool's content, of a resource's contents, and of a prompt's messages.
func tidyResult(raw json.RawMessage, o jsonraw.Object) json.RawMessage {
	if isTidy(o) {
		return bytes.TrimSpace(raw)
	}
	dropNulls(&o)
	if content, err := jsonraw.Elements(o.Get("content")); err == nil {
		o.Set("content", appendArray(nil, content, contentBlock))
	}
	if contents, err := jsonraw.Elements(o.Get("contents")); err == nil {
		o.Set("contents", appendArray(nil, contents, withoutNulls))
	}
	if messages, err := jsonraw.Elements(o.Get("messages")); err == nil {
		o.Set("messages", appendArray(nil, messages, promptMessage))
	}
	return o.Append(nil)
}

func withoutNulls(raw json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(raw)
	if err != nil || !dropNulls(&o) {
		return raw
	}
	return o.Append(nil)
}

func promptMessage(raw json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return raw
	}
	if content := o.Get("content"); content != nil {
		o.Set("content", contentOf(content))
	}
	return o.Append(nil)
}

// isTidy is a fast path: true means that a result needs no normalization, as most do. False means that it may.
func isTidy(o jsonraw.Object) bool {
	for _, m := range o {
		switch m.Key {
		case "messages":
			return false
		case "content", "contents":
			blocks := jsonraw.ScanArray(m.Value)
			for blocks.Next() {
				if !isTidyBlock(blocks.Value, m.Key == "content") {
					return false
				}
			}
			if blocks.Err() != nil {
				return false
			}
		}
		if jsonraw.IsNull(m.Value) {
			return false
		}
	}
	return true
}

// isTidyBlock reports whether a block has no null member, and has a type if it needs one.
func isTidyBlock(raw []byte, needsType bool) bool {
	typed := !needsType
	members := jsonraw.ScanObject(raw)
	for members.Next() {
		if jsonraw.IsNull(members.Value) {
			return false
		}
		typed = typed || members.KeyIs("type")
	}
	return typed && members.Err() == nil
}
