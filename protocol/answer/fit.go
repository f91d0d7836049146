package answer

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Fit converts content unknown to an older MCP version: a resource link becomes text, and audio becomes an embedded
// resource. Clients of these versions reject a whole answer for one unknown block. An empty version is the newest.
func Fit(o *rawjson.Object, version string) {
	if version == "" || version >= era.V20250618 {
		return
	}
	fitEach(o, "content", func(i int, block json.RawMessage) json.RawMessage { return fitBlock(block, i, version) })
	fitEach(o, "messages", func(i int, message json.RawMessage) json.RawMessage {
		m, err := rawjson.ParseObject(message)
		if err != nil {
			return message
		}
		m.Set("content", fitBlock(m.Get("content"), i, version))
		return m.Append(nil)
	})
}

func fitEach(o *rawjson.Object, key string, fit func(i int, e json.RawMessage) json.RawMessage) {
	list, err := rawjson.Elements(o.Get(key))
	if err != nil {
		return
	}
	for i, e := range list {
		list[i] = fit(i, e)
	}
	o.Set(key, rawjson.Array(list))
}

// fitBlock converts the i-th block for a version.
func fitBlock(block json.RawMessage, i int, version string) json.RawMessage {
	switch string(rawjson.Get(block, "type")) {
	case `"resource_link"`:
		return linkText(block)
	case `"audio"`:
		if version < era.V20250326 {
			return soundResource(block, i)
		}
	}
	return block
}

// linkText converts a resource link to text with its name, URI and description.
func linkText(block json.RawMessage) json.RawMessage {
	text := func(key string) string {
		s, _ := rawjson.String(rawjson.Get(block, key))
		return s
	}
	name := text("title")
	if name == "" {
		name = text("name")
	}
	said := name + ": " + text("uri")
	if description := text("description"); description != "" {
		said += " (" + description + ")"
	}
	return kept(block, rawjson.Object{{Key: "type", Value: json.RawMessage(`"text"`)}, {Key: "text", Value: rawjson.AppendString(nil, said)}})
}

// soundResource converts audio to an embedded resource. Its URI is only a placeholder.
func soundResource(block json.RawMessage, i int) json.RawMessage {
	resource := rawjson.Object{
		{Key: "uri", Value: rawjson.AppendString(nil, "sallyport://answer/"+strconv.Itoa(i))},
		{Key: "mimeType", Value: rawjson.Get(block, "mimeType")},
		{Key: "blob", Value: rawjson.Get(block, "data")},
	}
	return kept(block, rawjson.Object{{Key: "type", Value: json.RawMessage(`"resource"`)}, {Key: "resource", Value: resource.Append(nil)}})
}

// kept copies the members common to all block types from the old block to o.
func kept(block json.RawMessage, o rawjson.Object) json.RawMessage {
	for _, key := range []string{"annotations", "_meta"} {
		if v := rawjson.Get(block, key); v != nil {
			o.Set(key, v)
		}
	}
	return o.Append(nil)
}
