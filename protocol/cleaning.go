package protocol

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// cleanText takes out of some members of an object what nobody sees, and returns how many characters.
func cleanText(o *rawjson.Object, members ...string) (removed int) {
	for _, key := range members {
		if raw := o.Get(key); raw != nil {
			if text, n := clean.JSON(raw, nil); n > 0 {
				o.Set(key, text)
				removed += n
			}
		}
	}
	return removed
}

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
	if n > 0 {
		o.Set("content", content)
	}
	return n
}

// cleanMessages cleans the messages of a prompt.
func cleanMessages(o *rawjson.Object) {
	cleanText(o, "description")
	cleanMetas(o, "messages")
	if messages, n := clean.JSON(o.Get("messages"), untouched); n > 0 {
		o.Set("messages", messages)
	}
}

// hidden counts what data that stays as it is holds of what a text would lose.
func hidden(raw json.RawMessage) int {
	if raw == nil {
		return 0
	}
	_, n := clean.JSON(raw, nil)
	return n
}
