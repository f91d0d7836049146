package lock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Change is one difference between two versions of a plugin.
type Change struct {
	What   string // what changed: "import", "want", "tool now", "tool now: description"
	Entry  string // the definition, "tool now"; "" for imports and wants
	Path   string // of the value in the definition, "annotations.readOnlyHint"; "" for all of it
	Before string // "" if it was added
	After  string // "" if it was removed
}

// Difference lists the changes from one version of a plugin to another, apart from its code, in a fixed order.
func Difference(before, after Terms) []Change {
	changes := listed("import", before.Imports, after.Imports)
	changes = append(changes, listed("want", texts(before.Wants), texts(after.Wants))...)
	names := maps.Clone(before.Definitions)
	if names == nil {
		names = map[string]json.RawMessage{}
	}
	maps.Copy(names, after.Definitions)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		changes = append(changes, definition(name, before.Definitions[name], after.Definitions[name])...)
	}
	return changes
}

func texts(list []json.RawMessage) []string {
	var out []string
	for _, raw := range list {
		out = append(out, string(canonical(raw)))
	}
	slices.Sort(out)
	return out
}

// listed compares two sorted lists.
func listed(what string, before, after []string) (changes []Change) {
	for _, s := range before {
		if !slices.Contains(after, s) {
			changes = append(changes, Change{What: what, Before: s})
		}
	}
	for _, s := range after {
		if !slices.Contains(before, s) {
			changes = append(changes, Change{What: what, After: s})
		}
	}
	return changes
}

// definition compares one entry member by member. All members of a new entry are listed; a removed entry is a single
// change.
func definition(name string, before, after json.RawMessage) []Change {
	switch {
	case after == nil:
		return []Change{{What: name, Entry: name, Before: string(canonical(before))}}
	case before != nil && equalJSON(before, after):
		return nil
	}
	a, b := leaves(before), leaves(after)
	all := maps.Clone(a)
	maps.Copy(all, b)
	var changes []Change
	for _, path := range slices.SortedFunc(maps.Keys(all), proseFirst) {
		if c := a[path].change(b[path]); c != (Change{}) {
			c.What, c.Entry, c.Path = name+": "+path, name, path
			changes = append(changes, c)
		}
	}
	return changes
}

// proseFirst sorts the texts that people read, and models obey, before the rest.
func proseFirst(a, b string) int {
	rank := func(path string) int {
		if path == "description" || path == "title" {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// leaf is one JSON value in canonical form; empty if there is none.
type leaf string

// change compares two values; the zero Change if they are equal. Strings are shown without quotes, unless they would
// then look empty or equal.
func (a leaf) change(b leaf) Change {
	if a == b {
		return Change{}
	}
	if x, y := a.text(), b.text(); x != y && (x == "") == (a == "") && (y == "") == (b == "") {
		return Change{Before: x, After: y}
	}
	return Change{Before: string(a), After: string(b)}
}

// text returns the contents of a string, and any other value unchanged.
func (a leaf) text() string {
	if text, ok := jsonraw.String(json.RawMessage(a)); ok {
		return text
	}
	return string(a)
}

// leaves returns the JSON values that are not objects, and empty objects, by their paths.
func leaves(raw json.RawMessage) map[string]leaf {
	found := map[string]leaf{}
	if raw != nil {
		gather(nil, raw, found)
	}
	return found
}

func gather(path []string, raw json.RawMessage, found map[string]leaf) {
	raw = bytes.TrimSpace(raw)
	if o, err := jsonraw.ParseObject(raw); err == nil && len(o) > 0 {
		for _, m := range o {
			gather(append(path, step(m.Key)), m.Value, found)
		}
		return
	}
	found[strings.Join(path, ".")] = leaf(canonical(raw))
}

// step returns a key as an element of a path. A key with a dot is quoted, so that it cannot be confused with a nested
// key.
func step(key string) string {
	if key == "" || strings.ContainsAny(key, ".\"") {
		return string(jsonraw.AppendString(nil, key))
	}
	return key
}
