package protocol

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// resultURI begins the URI of what was too large to be sent at once.
const resultURI = "sallyport://results/"

// resultTime is how long it is kept.
const resultTime = time.Hour

// bound cuts an answer that is over the limit. Texts are cut and marked; an answer with structured content or
// data is replaced, since a part of it means nothing. The whole is kept for the caller.
func (r *request) bound(ctx context.Context, o *rawjson.Object, limit int) {
	size := sizeOf(*o)
	if limit <= 0 || size <= limit {
		return
	}
	uri := r.keepWhole(ctx, o)
	if o.Get("structuredContent") != nil || !textOnly(o.Get("content")) {
		r.replaceWhole(o, size, limit, uri)
		return
	}
	o.Set("content", cutBlocks(o.Get("content"), limit, notice(size, limit, uri)))
}

func sizeOf(o rawjson.Object) (n int) {
	for _, m := range o {
		n += len(m.Key) + len(m.Value) + len(`"":,`)
	}
	return n
}

func textOnly(content json.RawMessage) bool {
	s := rawjson.ScanArray(content)
	for s.Next() {
		if string(rawjson.Get(s.Value, "type")) != `"text"` {
			return false
		}
	}
	return true
}

// notice are the blocks that say what is missing.
func notice(size, limit int, uri string) []json.RawMessage {
	text := fmt.Sprintf("[cut: the answer has %d bytes, and %d may be sent at once]", size, limit)
	if uri == "" {
		return []json.RawMessage{textBlock(text)}
	}
	return []json.RawMessage{textBlock(text), linkBlock(uri)}
}

func linkBlock(uri string) json.RawMessage {
	b := rawjson.AppendString([]byte(`{"type":"resource_link","uri":`), uri)
	return append(b, `,"name":"the whole answer","mimeType":"text/plain"}`...)
}

// cutBlocks keeps what fits of text blocks, and says that the rest is missing.
func cutBlocks(content json.RawMessage, limit int, notice []json.RawMessage) json.RawMessage {
	room := limit - len(`[]`)
	for _, n := range notice {
		room -= len(n) + 1
	}
	var kept []json.RawMessage
	s := rawjson.ScanArray(content)
	for s.Next() {
		if len(s.Value)+1 <= room {
			kept, room = append(kept, s.Value), room-len(s.Value)-1
			continue
		}
		if text, ok := rawjson.String(rawjson.Get(s.Value, "text")); ok {
			if part := fitting(text, room-len(`{"type":"text","text":""},`)); part != "" {
				kept = append(kept, textBlock(part))
			}
		}
		break
	}
	return rawjson.Array(append(kept, notice...))
}

// fitting is the beginning of a text that takes at most n bytes as JSON, up to the end of a line if there is
// one in its last quarter.
func fitting(text string, n int) string {
	if n <= 0 {
		return ""
	}
	end := min(len(text), n)
	for end > 0 && len(rawjson.AppendString(nil, text[:boundary(text, end)]))-2 > n {
		end -= max(1, end/8)
	}
	end = boundary(text, end)
	if line := strings.LastIndexByte(text[:end], '\n'); line > end*3/4 {
		end = line + 1
	}
	return text[:end]
}

// boundary is the last place at or before n where a character begins.
func boundary(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// replaceWhole puts an error in the place of an answer of which no part can be sent.
func (r *request) replaceWhole(o *rawjson.Object, size, limit int, uri string) {
	f := &failure{kind: "limit", text: fmt.Sprintf("the answer has %d bytes, and %d may be sent at once", size, limit)}
	blocks := []json.RawMessage{textBlock(r.subject + ": " + f.text)}
	if uri != "" {
		blocks = append(blocks, linkBlock(uri))
	}
	o.Delete("structuredContent")
	o.Set("content", rawjson.Array(blocks))
	o.Set("isError", json.RawMessage("true"))
	meta.Set(o, metaError, f.data(r.call))
}

// keepWhole keeps an answer for the caller and returns where it is; empty if nothing can be kept.
func (r *request) keepWhole(ctx context.Context, o *rawjson.Object) string {
	kept, principal := r.server.opts.Store, r.conn.opts.Principal
	if kept == nil || principal == anonymous {
		return ""
	}
	id := rand.Text()
	_, err := kept.Add(context.WithoutCancel(ctx), store.Result, store.Record{
		ID: id, Principal: principal, Data: wholeText(o), Expires: time.Now().Add(resultTime),
	})
	if err != nil {
		r.server.log.Warn("an answer that is too large cannot be kept", "call", r.call, "error", err)
		return ""
	}
	return resultURI + id
}

// wholeText is an answer as text: its texts as they are, anything else as JSON.
func wholeText(o *rawjson.Object) []byte {
	if o.Get("structuredContent") != nil || !textOnly(o.Get("content")) {
		return o.Append(nil)
	}
	var parts []string
	s := rawjson.ScanArray(o.Get("content"))
	for s.Next() {
		text, _ := rawjson.String(rawjson.Get(s.Value, "text"))
		parts = append(parts, text)
	}
	return []byte(strings.Join(parts, "\n"))
}

// pageBytes is how much of a kept answer one read gives.
const pageBytes = 64 << 10

// readResult serves resources/read of a kept answer: one page, from the byte that ?offset= names.
func (r *request) readResult(ctx context.Context, uri string) ([]byte, error) {
	id, offset, ok := parseResultURI(uri)
	if !ok || r.server.opts.Store == nil {
		return nil, r.resourceNotFound("unknown resource")
	}
	kept, err := r.server.opts.Store.Get(ctx, store.Result, id)
	if err != nil || kept.Principal != r.conn.opts.Principal || offset > len(kept.Data) {
		return nil, r.resourceNotFound("unknown resource")
	}
	text := string(kept.Data)
	start := boundary(text, offset)
	end := boundary(text, min(len(text), start+pageBytes))
	entry := rawjson.Object{
		{Key: "uri", Value: rawjson.AppendString(nil, uri)},
		{Key: "mimeType", Value: json.RawMessage(`"text/plain"`)},
		{Key: "text", Value: rawjson.AppendString(nil, text[start:end])},
	}
	if end < len(text) {
		next := fmt.Sprintf("%s%s?offset=%d", resultURI, id, end)
		meta.Set(&entry, "dev.sallyport/next", rawjson.AppendString(nil, next))
	}
	o := rawjson.Object{{Key: "contents", Value: rawjson.Array([]json.RawMessage{entry.Append(nil)})}}
	return r.frame(o, true), nil
}

func parseResultURI(uri string) (id string, offset int, ok bool) {
	rest, ok := strings.CutPrefix(uri, resultURI)
	id, query, paged := strings.Cut(rest, "?")
	if !paged {
		return id, 0, ok && id != ""
	}
	n, err := fmt.Sscanf(query, "offset=%d", &offset)
	return id, offset, ok && id != "" && n == 1 && err == nil && offset >= 0
}
