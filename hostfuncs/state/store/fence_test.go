package store_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// A host changes nothing after another one has changed the record of its fence, of either kind of token.
func TestFenced_changesNothingAfterATakeover(t *testing.T) {
	s, _, _ := open(t)
	mine := add(t, s, store.Record{ID: "task", Label: "one"})
	exact := store.Fenced(t.Context(), store.Fence{Kind: store.Task, ID: mine.ID, Label: "one", Version: mine.Version})
	owner := store.Fenced(t.Context(), store.Fence{Kind: store.Task, ID: mine.ID, Label: "one"})
	sp, n := store.Space{Plugin: "p"}, 0
	check := func(when string, wantExact, wantOwner error) {
		t.Helper()
		for _, c := range []struct {
			ctx  context.Context
			want error
		}{{exact, wantExact}, {owner, wantOwner}} {
			n++
			ctx, want := c.ctx, c.want
			_, added := s.Add(ctx, store.Part, store.Record{ID: strconv.Itoa(n)})
			err := s.Commit(ctx, sp, 1<<20, []store.Write{{Key: "k", Value: []byte(when)}}, nil)
			if !errors.Is(added, want) || !errors.Is(err, want) {
				t.Errorf("%s: got %v and %v, want %v", when, added, err, want)
			}
		}
	}
	check("at first", nil, nil)
	mine, err := s.Replace(t.Context(), store.Task, mine)
	if err != nil {
		t.Fatal(err)
	}
	check("after a change", store.ErrFenced, nil)
	mine.Label = "other"
	if mine, err = s.Replace(t.Context(), store.Task, mine); err != nil {
		t.Fatal(err)
	}
	check("after a takeover", store.ErrFenced, store.ErrFenced)
	if err := s.Remove(t.Context(), store.Task, mine.ID); err != nil {
		t.Fatal(err)
	}
	check("after its end", store.ErrFenced, store.ErrFenced)
	if item, err := s.Value(t.Context(), sp, "k"); err != nil || string(item.Value) != "after a change" {
		t.Errorf("got %s, %v, want the last change of the owner", item.Value, err)
	}
}
