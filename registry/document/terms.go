package document

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/skillfile"
)

// maxShown bounds the text that is kept of a document in words, in bytes, for a later look at what changed: beyond it
// there are digests.
const maxShown = 4 << 20

// Terms are what an operator agrees to with a document: what it offers, and its text.
func (d *Document) Terms() lock.Terms {
	t := lock.Terms{Digest: d.Digest, Definitions: d.Manifest.Definitions()}
	left := maxShown
	for _, name := range d.weightiest() {
		data, shown := d.texts[name], map[string]any{}
		if len(data) <= left && utf8.Valid(data) {
			shown["text"] = string(data)
			left -= len(data)
		} else {
			shown["digest"], shown["bytes"] = fileid.Digest(data), len(data)
		}
		raw, err := json.Marshal(shown)
		if err != nil {
			continue // texts and a number
		}
		t.Definitions["file "+name] = raw // no kind of entry is called so
	}
	return t
}

// weightiest are the names of what is shown of a document: what a skill says first, then from the shortest file to the
// longest, so that no long one keeps the others out of words.
func (d *Document) weightiest() []string {
	return slices.SortedFunc(maps.Keys(d.texts), func(a, b string) int {
		first := func(name string) int {
			if name == skillfile.Entry {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(len(d.texts[a]), len(d.texts[b])), cmp.Compare(a, b))
	})
}
