package document

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
)

// maxShown bounds the text that is kept of a document in words, in bytes, for a later look at what changed: beyond it
// there are digests.
const maxShown = 4 << 20

// Terms are what an operator agrees to with a document: what it offers, and its text.
func (d *Document) Terms() lock.Terms {
	t := lock.Terms{Digest: d.Digest, Definitions: d.Manifest.Definitions()}
	left := maxShown
	for _, name := range slices.Sorted(maps.Keys(d.texts)) {
		data, shown := d.texts[name], map[string]any{}
		if len(data) <= left && utf8.Valid(data) {
			shown["text"] = string(data)
			left -= len(data)
		} else {
			shown["digest"], shown["bytes"] = stamp.Digest(data), len(data)
		}
		raw, err := json.Marshal(shown)
		if err != nil {
			continue // texts and a number
		}
		t.Definitions["file "+name] = raw // no kind of entry is called so
	}
	return t
}
