package lock

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// sharedOptions are those of a lock in a database, with a lock file beside it that need not exist.
func sharedOptions(t *testing.T) Options {
	t.Helper()
	o := fileOptions(t)
	o.Store = shared(t)
	return o
}

// elsewhere returns the options of another machine with the same database.
func elsewhere(t *testing.T, o Options) Options {
	t.Helper()
	other := fileOptions(t)
	other.Store = o.Store
	return other
}

// A database gets the pins and rejections of the lock file that it does not have: other bytes of these names are not
// trusted as the first ones. A pin that is forgotten does not come back from the file.
func TestDatabase_getsThePinsOfTheFile(t *testing.T) {
	o := sharedOptions(t)
	before := open(t, Options{File: o.File})
	for name, n := range map[string]int{"a": 1, "b": 2, "C": 3} {
		if err := before.Approve(t.Context(), name, "", terms(n).Pin("x.wasm")); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Reject(t.Context(), "r", digest(9)); err != nil {
		t.Fatal(err)
	}
	other := open(t, elsewhere(t, o))
	for name, n := range map[string]int{"a": 5, "c": 6} {
		if err := other.Approve(t.Context(), name, "", terms(n).Pin("x.wasm")); err != nil {
			t.Fatal(err)
		}
	}
	reading := o
	reading.ReadOnly = true
	for _, l := range []*Lock{open(t, reading), open(t, o)} {
		wantDigest(t, l, "a", digest(5))
		wantDigest(t, l, "b", digest(2))
		wantDigest(t, l, "c", digest(6))
		wantDigest(t, l, "C", "") // one name with c
		l.Trust("r", terms(9).Pin("r.wasm"))
		wantDigest(t, l, "r", "")
	}
	if changed, err := other.Refresh(t.Context()); !changed || err != nil {
		t.Errorf("got changed %v, %v, want true", changed, err)
	}
	wantDigest(t, other, "b", digest(2))
	l := open(t, o)
	if err := errors.Join(l.Forget(t.Context(), "b"), l.Reject(t.Context(), "z", digest(8))); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lock{l, open(t, o), open(t, Options{File: o.File})} {
		wantDigest(t, l, "b", "")
	}
}

// Of two hosts that approve different bytes of one name at once one wins, and the other is told.
func TestDatabase_oneOfTwoApprovalsWins(t *testing.T) {
	o := sharedOptions(t)
	for round := range 20 {
		name := fmt.Sprint("p", round)
		hosts := []*Lock{open(t, elsewhere(t, o)), open(t, elsewhere(t, o))}
		var work sync.WaitGroup
		errs := make([]error, len(hosts))
		for i, l := range hosts {
			work.Go(func() { errs[i] = l.Approve(t.Context(), name, "", terms(i+1).Pin("p.wasm")) })
		}
		work.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		if errs[winner] != nil || !errors.Is(errs[1-winner], ErrMoved) {
			t.Fatalf("got %v, want one success and one %v", errs, ErrMoved)
		}
		for _, l := range hosts {
			if _, err := l.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantDigest(t, l, name, digest(winner+1))
		}
	}
}

// Hosts that start at once pin each name to the bytes of one of them, and lose no name.
func TestDatabase_manyHostsPinAtOnce(t *testing.T) {
	o := sharedOptions(t)
	var work sync.WaitGroup
	for i := range 8 {
		l := open(t, elsewhere(t, o))
		trust(t, l, "same", terms(i+1))
		trust(t, l, fmt.Sprint("own", i), terms(i+1))
		work.Go(func() {
			if err := l.Save(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	l := open(t, o)
	if p, _ := l.Pin("same"); p.Digest == "" || len(l.Names()) != 9 {
		t.Errorf("got %v, same pinned to %q, want 9 names", l.Names(), p.Digest)
	}
}

// Nothing is written for a host that does not write, nor by an update that changes nothing.
func TestDatabase_writesOnlyChanges(t *testing.T) {
	o := sharedOptions(t)
	reading := o
	reading.ReadOnly = true
	l := open(t, reading)
	l.Trust("a", terms(1).Pin("a.wasm"))
	if err := errors.Join(l.Save(t.Context()), l.Reject(t.Context(), "a", digest(2))); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Store.VersionOf(t.Context(), store.Lock, recordID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want %v", err, store.ErrNotFound)
	}
	l = open(t, o)
	var versions []int64
	for range 2 {
		if err := l.Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
			t.Fatal(err)
		}
		v, err := o.Store.VersionOf(t.Context(), store.Lock, recordID)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	if versions[0] != versions[1] {
		t.Errorf("the same approval twice: got versions %v, want one", versions)
	}
	if _, err := os.Stat(o.File); err == nil {
		t.Error("got a lock file, want none")
	}
}

// A record that is gone or cannot be read changes nothing at a running host: the first bytes seen would be trusted. It is
// not overwritten, and each such time is reported once.
func TestDatabase_keepsItsPinsWithoutARecord(t *testing.T) {
	for name, damage := range map[string]func(*store.Store, store.Record) error{
		"gone":    func(s *store.Store, r store.Record) error { return s.Remove(t.Context(), store.Lock, r.ID) },
		"damaged": func(s *store.Store, r store.Record) error { r.Data = []byte("{"); return replaced(t, s, r) },
		"newer": func(s *store.Store, r store.Record) error {
			r.Data = []byte(`{"version":99,"plugins":{}}`)
			return replaced(t, s, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := sharedOptions(t)
			l := open(t, o)
			if err := l.Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
				t.Fatal(err)
			}
			good, err := o.Store.Get(t.Context(), store.Lock, recordID)
			if err == nil {
				err = damage(o.Store, good)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []bool{true, false, false} {
				if changed, err := l.Refresh(t.Context()); changed || (err != nil) != want {
					t.Errorf("refresh %d: got changed %v, %v, want an error %v", i, changed, err, want)
				}
			}
			if err := l.Approve(t.Context(), "b", "", terms(2).Pin("b.wasm")); err == nil || !strings.Contains(err.Error(), "the lock in the database: ") {
				t.Errorf("approve: got %v, want an error", err)
			}
			wantDigest(t, l, "a", digest(1))
			wantDigest(t, l, "b", "")
			now, err := o.Store.Get(t.Context(), store.Lock, recordID)
			if name == "gone" {
				good.Version = 0
				_, err = o.Store.Add(t.Context(), store.Lock, good)
			} else if err == nil && string(now.Data) != string(good.Data) {
				if _, err := Open(o); err == nil {
					t.Error("a new start: got no error, want one")
				}
				now.Data = good.Data
				err = replaced(t, o.Store, now)
			}
			if err != nil {
				t.Fatal(err)
			}
			if changed, err := l.Refresh(t.Context()); !changed || err != nil {
				t.Errorf("restored: got changed %v, %v, want true", changed, err)
			}
			wantDigest(t, l, "a", digest(1))
		})
	}
}

func replaced(t *testing.T, s *store.Store, r store.Record) error {
	t.Helper()
	_, err := s.Replace(t.Context(), store.Lock, r)
	return err
}
