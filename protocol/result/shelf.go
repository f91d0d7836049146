package result

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

const (
	// shelfURI is the URI prefix of stored answers.
	shelfURI = "sallyport://results/"
	// shelfTime is the lifetime of a stored answer.
	shelfTime = time.Hour
	// pageBytes is the page size of resources/read.
	pageBytes = 64 << 10
)

// Shelf stores the full text of answers that were cut or replaced. Without a Store it keeps none.
type Shelf struct{ Store *store.Store }

// Holds reports whether a URI is that of a stored answer.
func Holds(uri string) bool { return strings.HasPrefix(uri, shelfURI) }

// Put stores an answer for a principal and returns its URI, or "" without a store.
func (s Shelf) Put(ctx context.Context, principal string, o jsonraw.Object) (uri string, err error) {
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

// whole returns the text of a divisible answer, or the JSON of any other.
func whole(o jsonraw.Object) []byte {
	if !Divisible(o) {
		return o.Append(nil)
	}
	var parts []string
	s := jsonraw.ScanArray(o.Get("content"))
	for s.Next() {
		text, _ := jsonraw.String(jsonraw.Get(s.Value, "text"))
		parts = append(parts, text)
	}
	return []byte(strings.Join(parts, "\n"))
}

// Page answers resources/read for a principal's stored answer with one page, starting at the byte given by
// ?offset=. ok is false if there is no such answer.
func (s Shelf) Page(ctx context.Context, principal, uri string) (o jsonraw.Object, ok bool) {
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
	entry := jsonraw.Object{
		{Key: "uri", Value: jsonraw.AppendString(nil, uri)},
		{Key: "mimeType", Value: json.RawMessage(`"text/plain"`)},
		{Key: "text", Value: jsonraw.AppendString(nil, text[start:end])},
	}
	if end < len(text) {
		next := fmt.Sprintf("%s%s?offset=%d", shelfURI, id, end)
		untrusted.SetMeta(&entry, "dev.sallyport/next", jsonraw.AppendString(nil, next))
	}
	return jsonraw.Object{{Key: "contents", Value: jsonraw.Array([]json.RawMessage{entry.Append(nil)})}}, true
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
