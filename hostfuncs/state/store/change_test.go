package store_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

func TestChange_isOneTransaction(t *testing.T) {
	s, c, _ := open(t)
	records := []store.Record{{ID: "a", Expires: c.Now().Add(time.Minute)}, {ID: "b"}}
	count := func(fail error) (was [][]byte, err error) {
		err = s.Change(t.Context(), store.Usage, "token:ann", records, func(data [][]byte) ([][]byte, error) {
			was = data
			return [][]byte{append(bytes.Clone(data[0]), 'a'), append(bytes.Clone(data[1]), 'b')}, fail
		})
		return was, err
	}
	refused := errors.New("refused")
	for i, step := range []struct {
		fail error
		a, b string
		pass time.Duration
	}{{nil, "", "", 0}, {refused, "a", "b", 0}, {nil, "a", "b", 0}, {nil, "", "bb", time.Minute}, {nil, "a", "bbb", 0}} {
		c.Pass(step.pass)
		records[0].Expires = c.Now().Add(time.Minute)
		was, err := count(step.fail)
		if err != step.fail || string(was[0]) != step.a || string(was[1]) != step.b || (was[0] == nil) != (step.a == "") {
			t.Errorf("step %d: got %q, %v, want %q and %q", i, was, err, step.a, step.b)
		}
	}
	r, err := s.Get(t.Context(), store.Usage, "b")
	if err != nil || string(r.Data) != "bbbb" || r.Principal != "token:ann" {
		t.Errorf("got %+v, %v, want bbbb of ann", r, err)
	}
}

// Changes of several processes add up.
func TestChange_losesNothing(t *testing.T) {
	s, c, dir := open(t)
	o := storetest.Options(t, dir)
	o.Now = c.Now
	other := storetest.Open(t, o)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for range 5 {
				err := []*store.Store{s, other}[i%2].Change(t.Context(), store.Usage, "p", []store.Record{{ID: "n"}}, func(data [][]byte) ([][]byte, error) {
					return [][]byte{append(bytes.Clone(data[0]), 'x')}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if r, err := s.Get(t.Context(), store.Usage, "n"); err != nil || len(r.Data) != 40 {
		t.Errorf("got %d changes, %v, want 40", len(r.Data), err)
	}
}

// A record that was changed meanwhile keeps the others from being removed.
func TestReplaceAndRemove_isOneTransaction(t *testing.T) {
	s, _, _ := open(t)
	head, err := s.Add(t.Context(), store.Lock, store.Record{ID: "a"})
	for _, id := range []string{"x", "y", "z"} {
		_, added := s.Add(t.Context(), store.Code, store.Record{ID: id})
		err = errors.Join(err, added)
	}
	if err != nil {
		t.Fatal(err)
	}
	left := func() (ids string) {
		all, err := s.List(t.Context(), store.Code, "", "", 0)
		if err != nil {
			t.Error(err)
		}
		for _, r := range all {
			ids += r.ID
		}
		return ids
	}
	old := head
	if head, err = s.ReplaceAndRemove(t.Context(), store.Lock, head, store.Code, "x", "none"); err != nil || left() != "yz" {
		t.Errorf("got %v, %s left, want y and z", err, left())
	}
	if _, err := s.ReplaceAndRemove(t.Context(), store.Lock, old, store.Code, "y"); !errors.Is(err, store.ErrConflict) || left() != "yz" {
		t.Errorf("an old version: got %v, %s left, want %v and y and z", err, left(), store.ErrConflict)
	}
	if _, err := s.ReplaceAndRemove(t.Context(), store.Lock, head, store.Code, "y", "z"); err != nil || left() != "" {
		t.Errorf("the present version: got %v, %s left, want none", err, left())
	}
}
