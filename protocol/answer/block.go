package answer

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Text is a content block with a text.
func Text(text string) json.RawMessage {
	return append(rawjson.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// Content is a content of these blocks.
func Content(blocks ...json.RawMessage) json.RawMessage { return rawjson.Array(blocks) }

// Add adds a block at the end of a result's content.
func Add(o *rawjson.Object, block json.RawMessage) {
	blocks, _ := rawjson.Elements(o.Get("content"))
	o.Set("content", rawjson.Array(append(blocks, block)))
}

// link is a content block with the place of a whole answer.
func link(uri string) json.RawMessage {
	b := rawjson.AppendString([]byte(`{"type":"resource_link","uri":`), uri)
	return append(b, `,"name":"the whole answer","mimeType":"text/plain"}`...)
}

// Said is the text of a result's text blocks, a line or more for each.
func Said(o rawjson.Object) string {
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(o.Get("content"), &blocks) != nil {
		return "" // what has no such blocks was refused before
	}
	var said strings.Builder
	for _, b := range blocks {
		said.WriteString(b.Text + "\n")
	}
	return said.String()
}
