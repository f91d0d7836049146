package store_test

import (
	"errors"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// A purge removes the keys of one plugin, of all principals, and its bytes count no longer.
func TestKV_purgeRemovesTheKeysOfOnePlugin(t *testing.T) {
	s, _, _ := open(t)
	ctx := t.Context()
	spaces := []store.Space{{Plugin: "p", Principal: "a"}, {Plugin: "p", Principal: "b"}, {Plugin: "q", Principal: "a"}}
	write := []store.Write{{Key: "k", Value: []byte("12345")}}
	for _, sp := range spaces {
		if err := s.Commit(ctx, sp, 8, write, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Purge(ctx, "p"); err != nil {
		t.Fatal(err)
	}
	for _, sp := range spaces {
		if _, err := s.Value(ctx, sp, "k"); errors.Is(err, store.ErrNotFound) != (sp.Plugin == "p") {
			t.Errorf("%+v: got %v, want only the keys of p removed", sp, err)
		}
	}
	if err := s.Commit(ctx, spaces[0], 8, []store.Write{{Key: "l", Value: []byte("54321")}}, nil); err != nil {
		t.Errorf("after the purge: got %v, want room for other keys", err)
	}
}
