package result

import (
	"encoding/json"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Text returns a text content block.
func Text(text string) json.RawMessage {
	return append(jsonraw.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// Content returns a content array of these blocks.
func Content(blocks ...json.RawMessage) json.RawMessage { return jsonraw.Array(blocks) }

// Add appends a block to a result's content.
func Add(o *jsonraw.Object, block json.RawMessage) {
	blocks, _ := jsonraw.Elements(o.Get("content"))
	o.Set("content", jsonraw.Array(append(blocks, block)))
}

// link returns a content block that links to the stored full answer.
func link(uri string) json.RawMessage {
	b := jsonraw.AppendString([]byte(`{"type":"resource_link","uri":`), uri)
	return append(b, `,"name":"the whole answer","mimeType":"text/plain"}`...)
}

// Said returns the text of a result's text blocks, joined by line ends.
func Said(o jsonraw.Object) string {
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(o.Get("content"), &blocks) != nil {
		return "" // parse has rejected content of other shapes
	}
	var said strings.Builder
	for _, b := range blocks {
		said.WriteString(b.Text + "\n")
	}
	return said.String()
}
