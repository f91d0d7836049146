package document

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// maxShown limits the document text stored for later comparison, in bytes; beyond it digests are stored.
const maxShown = 4 << 20

// Terms returns the subject of an approval of the document: its definitions and its text.
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
			continue // cannot fail: strings and a number
		}
		t.Definitions["file "+name] = raw // no kind of entry has this name
	}
	return t
}

// weightiest returns the names of the document's texts: SKILL.md first, then the files from the shortest to the
// longest, so that a long one does not displace the others.
func (d *Document) weightiest() []string {
	return slices.SortedFunc(maps.Keys(d.texts), func(a, b string) int {
		first := func(name string) int {
			if name == SkillEntry {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(len(d.texts[a]), len(d.texts[b])), cmp.Compare(a, b))
	})
}
