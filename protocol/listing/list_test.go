package listing

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestPageEnds_limitsEntriesAndBytes(t *testing.T) {
	item := func(size int) json.RawMessage { return make(json.RawMessage, size) }
	for _, test := range []struct {
		name  string
		sizes []int
		most  int
		want  []int
	}{
		{"none", nil, 2, []int{0}},
		{"one", []int{1}, 2, []int{1}},
		{"full", []int{1, 1}, 2, []int{2}},
		{"more", []int{1, 1, 1, 1, 1}, 2, []int{2, 4, 5}},
		{"large", []int{maxPage / 2, maxPage / 2, 1, 1}, 9, []int{2, 4}},
		{"one too large", []int{1, 2 * maxPage, 1}, 9, []int{1, 2, 3}},
	} {
		var items []json.RawMessage
		for _, size := range test.sizes {
			items = append(items, item(size))
		}
		if got := pageEnds(items, test.most); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// Servers with the same catalog accept each other's cursors; a change invalidates them.
func TestList_cursorsBelongToTheCatalog(t *testing.T) {
	items := []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":2}`)}
	names := cursors("tools", items, 2)
	if again := cursors("tools", items, 2); string(again[1]) != string(names[1]) {
		t.Error("the same list has other cursors")
	}
	for what, other := range map[string][]json.RawMessage{
		"another kind":    cursors("prompts", items, 2),
		"another content": cursors("tools", items[:1], 2),
	} {
		if string(other[1]) == string(names[1]) {
			t.Errorf("%s has the same cursors", what)
		}
	}
	if string(names[0]) == string(names[1]) {
		t.Error("two pages have one cursor")
	}
}

func TestAnyObject_acceptsOnlyUnconstrainedSchemas(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object"}`: true,
		`{"$schema":"x","type":"object","properties":{},"additionalProperties":true,"title":"t"}`: true,
		`{}`:                                 true,
		`{"type":"string"}`:                  false,
		`{"type":["object"]}`:                false,
		`{"type":"object","required":["a"]}`: false,
		`{"type":"object","properties":{"a":{}}}`:        false,
		`{"type":"object","additionalProperties":false}`: false,
		`{"\u0074ype":"string"}`:                         false,
		`true`:                                           false,
		``:                                               false,
	} {
		if got := anyObject(json.RawMessage(schema)); got != want {
			t.Errorf("%s: got %v, want %v", schema, got, want)
		}
	}
}
