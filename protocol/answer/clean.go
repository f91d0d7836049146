package answer

import (
	"bytes"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/icon"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// untouched are the members of a content block that are data: a client shows them to nobody as they are.
func untouched(member string) bool {
	switch member {
	case "resource", "data", "blob", "_meta", "uri", "mimeType":
		return true
	}
	return false
}

// cleanContent cleans the blocks of a result: its texts, names and descriptions. What is in a resource, in
// structured content or binary stays as it is.
func cleanContent(o *rawjson.Object) int {
	content, n := clean.JSON(o.Get("content"), untouched)
	content, icons := cleanIcons(content, "")
	if n+icons > 0 {
		o.Set("content", content)
	}
	return n
}

// cleanIcons takes the icons out of links to resources that a client must not load. The blocks are the elements of a
// list, or below a member of each.
func cleanIcons(list json.RawMessage, below string) (_ json.RawMessage, removed int) {
	if !bytes.Contains(list, []byte("icons")) && !bytes.Contains(list, []byte(`\u00`)) {
		return list, 0
	}
	elements, err := rawjson.Elements(list)
	if err != nil {
		return list, 0
	}
	for i, e := range elements {
		if below == "" {
			var n int
			elements[i], n = withoutIcons(e)
			removed += n
			continue
		}
		o, err := rawjson.ParseObject(e)
		if err != nil {
			continue
		}
		if block, n := withoutIcons(o.Get(below)); n > 0 {
			o.Set(below, block)
			elements[i], removed = o.Append(nil), removed+n
		}
	}
	if removed == 0 {
		return list, 0
	}
	return rawjson.Array(elements), removed
}

func withoutIcons(block json.RawMessage) (_ json.RawMessage, removed int) {
	kept, removed := icon.Keep(rawjson.Get(block, "icons"))
	o, err := rawjson.ParseObject(block)
	if removed == 0 || err != nil || o.Get("icons") == nil {
		return block, 0
	}
	if kept == nil {
		o.Delete("icons")
	} else {
		o.Set("icons", kept)
	}
	return o.Append(nil), removed
}

// cleanMessages cleans the messages of a prompt.
func cleanMessages(o *rawjson.Object) {
	clean.Members(o, "description")
	meta.StripBelow(o, "messages")
	messages, n := clean.JSON(o.Get("messages"), untouched)
	messages, icons := cleanIcons(messages, "content")
	if n+icons > 0 {
		o.Set("messages", messages)
	}
}
