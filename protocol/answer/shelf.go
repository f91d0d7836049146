package answer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

const (
	// shelfURI begins the URI of what was too large to be sent at once.
	shelfURI = "sallyport://results/"
	// shelfTime is how long it is kept.
	shelfTime = time.Hour
	// pageBytes is how much of it one read gives.
	pageBytes = 64 << 10
)

// Shelf keeps whole answers for those who got a part. It keeps none without a Store.
type Shelf struct{ Store *store.Store }

// Holds reports whether a URI is that of an answer on a shelf.
func Holds(uri string) bool { return strings.HasPrefix(uri, shelfURI) }

// Put keeps an answer for a principal and returns its URI; "" if there is no store.
func (s Shelf) Put(ctx context.Context, principal string, o rawjson.Object) (uri string, err error) {
	if s.Store == nil {
		return "", nil
	}
	id := rand.Text()
	_, err = s.Store.Add(context.WithoutCancel(ctx), store.Result, store.Record{
		ID: id, Principal: principal, Data: whole(o), Expires: time.Now().Add(shelfTime),
	})
	if err != nil {
		return "", err
	}
	return shelfURI + id, nil
}

// whole is an answer as text: its texts as they are, anything else as JSON.
func whole(o rawjson.Object) []byte {
	if !Divisible(o) {
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

// Page is the answer to resources/read of an answer that a principal has on the shelf: one page, from the byte that
// ?offset= names. ok is false if there is none.
func (s Shelf) Page(ctx context.Context, principal, uri string) (o rawjson.Object, ok bool) {
	id, offset, ok := parseShelfURI(uri)
	if !ok || s.Store == nil {
		return nil, false
	}
	kept, err := s.Store.Get(ctx, store.Result, id)
	if err != nil || kept.Principal != principal || offset > len(kept.Data) {
		return nil, false
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
		next := fmt.Sprintf("%s%s?offset=%d", shelfURI, id, end)
		meta.Set(&entry, "dev.sallyport/next", rawjson.AppendString(nil, next))
	}
	return rawjson.Object{{Key: "contents", Value: rawjson.Array([]json.RawMessage{entry.Append(nil)})}}, true
}

func parseShelfURI(uri string) (id string, offset int, ok bool) {
	rest, ok := strings.CutPrefix(uri, shelfURI)
	id, query, paged := strings.Cut(rest, "?")
	if !paged {
		return id, 0, ok && id != ""
	}
	n, err := fmt.Sscanf(query, "offset=%d", &offset)
	return id, offset, ok && id != "" && n == 1 && err == nil && offset >= 0
}
