package result

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Size returns the encoded size of an answer, in bytes.
func Size(o jsonraw.Object) (n int) {
	for _, m := range o {
		n += len(m.Key) + len(m.Value) + len(`"":,`)
	}
	return n
}

// Bound is the limit of an answer, in bytes, and its origin for messages.
type Bound struct {
	Bytes int
	By    string
}

// TooLarge returns the message for an answer over its limit.
func TooLarge(size int, b Bound) string {
	return fmt.Sprintf("the answer has %d bytes, and %d may be sent at once (%s)", size, b.Bytes, b.By)
}

// Divisible reports whether an answer may be cut: it has only text, and no structured content.
func Divisible(o jsonraw.Object) bool {
	return o.Get("structuredContent") == nil && textOnly(o.Get("content"))
}

func textOnly(content json.RawMessage) bool {
	s := jsonraw.ScanArray(content)
	for s.Next() {
		if string(jsonraw.Get(s.Value, "type")) != `"text"` {
			return false
		}
	}
	return true
}

// Cut shortens a divisible answer to its limit. It adds a notice and, if uri is not empty, a link to the stored
// full answer.
func Cut(o *jsonraw.Object, b Bound, uri string) {
	notice := []json.RawMessage{Text("[cut: " + TooLarge(Size(*o), b) + "]")}
	o.Set("content", cutBlocks(o.Get("content"), b.Bytes, withLink(notice, uri)))
}

// Replace replaces an answer that cannot be cut by an error with the reason.
func Replace(o *jsonraw.Object, why, uri string) {
	o.Delete("structuredContent")
	o.Set("content", jsonraw.Array(withLink([]json.RawMessage{Text(why)}, uri)))
	o.Set("isError", json.RawMessage("true"))
}

func withLink(blocks []json.RawMessage, uri string) []json.RawMessage {
	if uri == "" {
		return blocks
	}
	return append(blocks, link(uri))
}

// cutBlocks keeps the text blocks within the limit and appends the notice.
func cutBlocks(content json.RawMessage, limit int, notice []json.RawMessage) json.RawMessage {
	room := limit - len(`[]`)
	for _, n := range notice {
		room -= len(n) + 1
	}
	var kept []json.RawMessage
	s := jsonraw.ScanArray(content)
	for s.Next() {
		if len(s.Value)+1 <= room {
			kept, room = append(kept, s.Value), room-len(s.Value)-1
			continue
		}
		if text, ok := jsonraw.String(jsonraw.Get(s.Value, "text")); ok {
			if part := fitting(text, room-len(`{"type":"text","text":""},`)); part != "" {
				kept = append(kept, Text(part))
			}
		}
		break
	}
	return jsonraw.Array(append(kept, notice...))
}

// fitting returns the longest prefix of text with at most n bytes as JSON. It ends at a line end if one is in its
// last quarter.
func fitting(text string, n int) string {
	if n <= 0 {
		return ""
	}
	end := min(len(text), n)
	for end > 0 && len(jsonraw.AppendString(nil, text[:boundary(text, end)]))-2 > n {
		end -= max(1, end/8)
	}
	end = boundary(text, end)
	if line := strings.LastIndexByte(text[:end], '\n'); line > end*3/4 {
		end = line + 1
	}
	return text[:end]
}

// boundary returns the last character boundary at or before n.
func boundary(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
