package listing

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// List is one list of the catalog as rendered result pages, for both eras.
type List struct {
	modern, legacy []json.RawMessage
	pages          map[string]int // by cursor as a JSON string
}

// cursorSize is the hash length of a cursor in bytes, enough against collisions.
const cursorSize = 15

// maxPage is the maximum total size of the entries on one page, in bytes, unless a single entry is larger. A page
// must fit one transport message.
const maxPage = 4 << 20

// list splits entries into pages.
func (o *Options) list(key string, e entries) List {
	l := List{pages: map[string]int{}}
	ends := pageEnds(e.modern, o.PageSize)
	names := cursors(key, e.modern, len(ends))
	start := 0
	for i, end := range ends {
		var next json.RawMessage
		if i+1 < len(ends) {
			next = names[i+1]
			l.pages[string(next)] = i + 1
		}
		l.legacy = append(l.legacy, page(key, e.legacy[start:end], next).Append(nil))
		l.modern = append(l.modern, o.modernPage(page(key, e.modern[start:end], next)))
		start = end
	}
	return l
}

func (o *Options) modernPage(p jsonraw.Object) json.RawMessage {
	p.Set("resultType", json.RawMessage(`"complete"`))
	envelope.Uncached(&p)
	p.Set("_meta", o.Meta)
	return p.Append(nil)
}

// pageEnds returns the index after the last entry of each page. There is at least one page.
func pageEnds(items []json.RawMessage, most int) (ends []int) {
	size, count := 0, 0
	for i, item := range items {
		if count == most || count > 0 && size+len(item) > maxPage {
			ends = append(ends, i)
			size, count = 0, 0
		}
		size += len(item)
		count++
	}
	return append(ends, len(items))
}

// cursors returns a cursor per page, a hash of the list's contents and the page number. Cursors are opaque and
// cannot be forged. All processes with the same list use the same cursors, and a changed list invalidates them.
func cursors(key string, items []json.RawMessage, count int) []json.RawMessage {
	h := sha256.New()
	h.Write([]byte(key))
	for _, item := range items {
		h.Write([]byte{0})
		h.Write(item)
	}
	contents := h.Sum(nil)
	names := make([]json.RawMessage, count)
	for i := range names {
		sum := sha256.Sum256(strconv.AppendInt(contents, int64(i), 10))
		names[i] = json.RawMessage(strconv.Quote(base64.RawURLEncoding.EncodeToString(sum[:cursorSize])))
	}
	return names
}

// page builds the result for one page.
func page(key string, items []json.RawMessage, next json.RawMessage) jsonraw.Object {
	o := jsonraw.Object{{Key: key, Value: jsonraw.Array(items)}}
	if next != nil {
		o.Set("nextCursor", next)
	}
	return o
}

// Page returns the result with the requested page. An absent or empty cursor means the first page, as some clients
// send an empty one.
func (l *List) Page(cursor json.RawMessage, modern bool) (json.RawMessage, error) {
	n, err := l.number(cursor)
	if err != nil {
		return nil, err
	}
	if modern {
		return l.modern[n], nil
	}
	return l.legacy[n], nil
}

func (l *List) number(cursor json.RawMessage) (int, error) {
	if jsonraw.IsNull(cursor) || string(cursor) == `""` {
		return 0, nil
	}
	if !jsonraw.IsString(cursor) {
		return 0, jsonrpc.InvalidParams("params.cursor must be a string")
	}
	n, ok := l.pages[string(cursor)]
	if !ok {
		return 0, jsonrpc.InvalidParams("unknown cursor: the list may have changed, ask for it from the start")
	}
	return n, nil
}
