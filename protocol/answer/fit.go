package answer

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Fit turns content that a version of MCP does not have into what it has: a link to a resource into a text with the link,
// sound into a resource that holds it. Clients of those versions refuse the whole of an answer with a block that they do
// not know. An empty version is the newest.
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

// fitBlock is the i-th block as a version has it.
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

// linkText is a link to a resource as text: what it is called, where it is and what it is.
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

// soundResource is a sound as a resource of which nothing but the answer is the place.
func soundResource(block json.RawMessage, i int) json.RawMessage {
	resource := rawjson.Object{
		{Key: "uri", Value: rawjson.AppendString(nil, "sallyport://answer/"+strconv.Itoa(i))},
		{Key: "mimeType", Value: rawjson.Get(block, "mimeType")},
		{Key: "blob", Value: rawjson.Get(block, "data")},
	}
	return kept(block, rawjson.Object{{Key: "type", Value: json.RawMessage(`"resource"`)}, {Key: "resource", Value: resource.Append(nil)}})
}

// kept is a new block with what blocks of all types have of the old one.
func kept(block json.RawMessage, o rawjson.Object) json.RawMessage {
	for _, key := range []string{"annotations", "_meta"} {
		if v := rawjson.Get(block, key); v != nil {
			o.Set(key, v)
		}
	}
	return o.Append(nil)
}
