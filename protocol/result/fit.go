package result

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// Fit converts content unknown to an older MCP version: a resource link becomes text, and audio becomes an embedded
// resource. Clients of these versions reject a whole answer for one unknown block. An empty version is the newest.
func Fit(o *jsonraw.Object, version string) {
	if version == "" || version >= envelope.V20250618 {
		return
	}
	fitEach(o, "content", func(i int, block json.RawMessage) json.RawMessage { return fitBlock(block, i, version) })
	fitEach(o, "messages", func(i int, message json.RawMessage) json.RawMessage {
		m, err := jsonraw.ParseObject(message)
		if err != nil {
			return message
		}
		m.Set("content", fitBlock(m.Get("content"), i, version))
		return m.Append(nil)
	})
}

func fitEach(o *jsonraw.Object, key string, fit func(i int, e json.RawMessage) json.RawMessage) {
	list, err := jsonraw.Elements(o.Get(key))
	if err != nil {
		return
	}
	for i, e := range list {
		list[i] = fit(i, e)
	}
	o.Set(key, jsonraw.Array(list))
}

// fitBlock converts the i-th block for a version.
func fitBlock(block json.RawMessage, i int, version string) json.RawMessage {
	switch string(jsonraw.Get(block, "type")) {
	case `"resource_link"`:
		return linkText(block)
	case `"audio"`:
		if version < envelope.V20250326 {
			return soundResource(block, i)
		}
	}
	return block
}

// linkText converts a resource link to text with its name, URI and description.
func linkText(block json.RawMessage) json.RawMessage {
	text := func(key string) string {
		s, _ := jsonraw.String(jsonraw.Get(block, key))
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
	return kept(block, jsonraw.Object{{Key: "type", Value: json.RawMessage(`"text"`)}, {Key: "text", Value: jsonraw.AppendString(nil, said)}})
}

// soundResource converts audio to an embedded resource. Its URI is only a placeholder.
func soundResource(block json.RawMessage, i int) json.RawMessage {
	resource := jsonraw.Object{
		{Key: "uri", Value: jsonraw.AppendString(nil, "sallyport://answer/"+strconv.Itoa(i))},
		{Key: "mimeType", Value: jsonraw.Get(block, "mimeType")},
		{Key: "blob", Value: jsonraw.Get(block, "data")},
	}
	return kept(block, jsonraw.Object{{Key: "type", Value: json.RawMessage(`"resource"`)}, {Key: "resource", Value: resource.Append(nil)}})
}

// kept copies the members common to all block types from the old block to o.
func kept(block json.RawMessage, o jsonraw.Object) json.RawMessage {
	for _, key := range []string{"annotations", "_meta"} {
		if v := jsonraw.Get(block, key); v != nil {
			o.Set(key, v)
		}
	}
	return o.Append(nil)
}
