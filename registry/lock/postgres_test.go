//go:build postgres

package lock

import (
	"errors"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

// at returns the options of a machine with this database.
func at(t *testing.T, url string) Options {
	t.Helper()
	o := fileOptions(t)
	o.Store = storetest.Open(t, store.Options{URL: url})
	return o
}

// refreshed refreshes until there is a change.
func refreshed(t *testing.T, l *Lock) {
	t.Helper()
	for {
		changed, err := l.Refresh(t.Context())
		switch {
		case changed:
			return
		case err != nil && !errors.Is(err, store.ErrUnavailable):
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A host that starts while the database is away approves nothing, and trusts nothing, until it is back. A command fails.
func TestPostgres_approvesNothingUntilItIsReached(t *testing.T) {
	s := postgrestest.New(t)
	url := s.URL("owner", "public")
	if err := open(t, at(t, url)).Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")); err != nil {
		t.Fatal(err)
	}
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	o := at(t, url)
	if err := open(t, Options{File: o.File}).Approve(t.Context(), "local", "", terms(7).Pin("local.wasm")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a command: got %v, want %v", err, store.ErrUnavailable)
	}
	o.Later = true
	l := open(t, o)
	l.Trust("a", terms(2).Pin("a.wasm"))
	l.Trust("b", terms(2).Pin("b.wasm"))
	if !errors.Is(l.Unread(), store.ErrUnavailable) || !l.Locked() || len(l.Names()) > 0 {
		t.Errorf("got %v, locked %v, names %v, want nothing approved", l.Unread(), l.Locked(), l.Names())
	}
	if err := l.Approve(t.Context(), "b", "", terms(2).Pin("b.wasm")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("approve: got %v, want %v", err, store.ErrUnavailable)
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	refreshed(t, l)
	wantDigest(t, l, "a", digest(1))
	wantDigest(t, l, "b", "")
	wantDigest(t, l, "local", digest(7))
	if l.Unread() != nil || l.Locked() {
		t.Errorf("got %v, locked %v, want it read", l.Unread(), l.Locked())
	}
}

// A host that runs while the database is away, or silent, keeps its pins, and takes over what others approved when it is
// back. Nothing is approved meanwhile.
func TestPostgres_keepsItsPinsWhileItIsAway(t *testing.T) {
	s := postgrestest.New(t)
	line := s.NewLine(t)
	for name, lose := range map[string]func(){"away": line.Cut, "silent": line.Silence} {
		l, other := open(t, at(t, line.URL)), open(t, at(t, s.URL("owner", "public")))
		if err := l.Approve(t.Context(), name, "", terms(1).Pin("a.wasm")); err != nil {
			t.Fatal(err)
		}
		lose()
		if changed, err := l.Refresh(t.Context()); changed || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got changed %v, %v, want %v", name, changed, err, store.ErrUnavailable)
		}
		if changed, err := l.Refresh(t.Context()); changed || err != nil {
			t.Errorf("%s, once more: got changed %v, %v, want no second error", name, changed, err)
		}
		if err := l.Approve(t.Context(), name, digest(1), terms(3).Pin("a.wasm")); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: approve: got %v, want %v", name, err, store.ErrUnavailable)
		}
		wantDigest(t, l, name, digest(1))
		if err := other.Approve(t.Context(), name, digest(1), terms(2).Pin("a.wasm")); err != nil {
			t.Fatal(err)
		}
		line.Mend()
		refreshed(t, l)
		wantDigest(t, l, name, digest(2))
	}
}

// An approval and a rejection wake the other hosts.
func TestPostgres_wakesOtherHosts(t *testing.T) {
	s := postgrestest.New(t)
	l, other := open(t, at(t, s.URL("owner", "public"))), open(t, at(t, s.URL("owner", "public")))
	wake, _, stop := l.Changes()
	defer stop()
	<-wake // it listens
	for _, change := range []func() error{
		func() error { return other.Approve(t.Context(), "a", "", terms(1).Pin("a.wasm")) },
		func() error { return other.Reject(t.Context(), "a", digest(2)) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for changed := false; !changed; {
			<-wake
			var err error
			if changed, err = l.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p, _ := l.Pin("a"); p.Digest != digest(1) || !p.Refused(digest(2)) {
		t.Errorf("got %+v, want the approval and the rejection", p)
	}
}
