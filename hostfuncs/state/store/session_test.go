package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

// joined returns the IDs of records.
func joined(list []store.Record) string {
	var all []string
	for _, r := range list {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

// At the limit, the session that was unused for longest ends, and no session of another caller.
func TestSession_theOneUnusedForLongestEnds(t *testing.T) {
	s, c, _ := open(t)
	ctx, in := t.Context(), func(d time.Duration) time.Time { return c.Now().Add(d) }
	if _, err := s.Add(ctx, store.Session, store.Record{ID: "other", Principal: "token:bob", Expires: in(time.Second)}); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		if _, err := s.Add(ctx, store.Session, store.Record{ID: fmt.Sprint("s", i), Principal: "token:ann", Expires: in(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	used := func(id string, until time.Time) {
		t.Helper()
		err := s.Change(ctx, store.Session, "token:ann", []store.Record{{ID: id, Expires: until}}, func(data [][]byte) ([][]byte, error) { return data, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	used("s700", in(time.Minute))
	used("s0", in(2*time.Hour))
	if _, err := s.Add(ctx, store.Session, store.Record{ID: "new", Principal: "token:ann", Expires: in(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]error{"s700": store.ErrNotFound, "s0": nil, "s1": nil, "new": nil, "other": nil} {
		if _, err := s.Get(ctx, store.Session, id); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", id, err, want)
		}
	}
}

func TestAppend_addsOnceAndRemovesTheOwn(t *testing.T) {
	s, c, _ := open(t)
	ctx, soon := t.Context(), c.Now().Add(time.Minute)
	event := func(id, data string) store.Record {
		return store.Record{ID: id, Label: "host", Data: []byte(data), Expires: soon}
	}
	if err := s.Append(ctx, store.Event, "token:ann", []store.Record{event("s/a/1", "one"), event("s/a/2", "two"), event("s/a/3", "three"), event("sx/a/1", "other")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, store.Event, "token:ann", []store.Record{event("s/a/2", "again"), event("s/b/1", "next")}, []string{"s/a/1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, store.Event, "token:bob", nil, []string{"s/a/2", "s/b/1"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		prefix, after string
		n             int
		want          string
	}{
		{"s", "", 9, "s/a/2 s/a/3 s/b/1"}, {"s", "s/a/2", 9, "s/a/3 s/b/1"}, {"s", "", 2, "s/a/2 s/a/3"}, {"s/a", "", 9, "s/a/2 s/a/3"}, {"s/a", "s/a/3", 9, ""}, {"sx", "s/a/1", 9, "sx/a/1"},
	} {
		list, err := s.After(ctx, store.Event, c.prefix, c.after, c.n)
		if got := joined(list); err != nil || got != c.want {
			t.Errorf("below %s after %q: got %q, %v, want %q", c.prefix, c.after, got, err, c.want)
		}
	}
	if r, err := s.Get(ctx, store.Event, "s/a/2"); err != nil || string(r.Data) != "two" || r.Label != "host" {
		t.Errorf("got %q of %q, %v, want the first", r.Data, r.Label, err)
	}
	if err := s.Append(ctx, store.Event, "token:ann", []store.Record{{ID: "s/c/1", Data: make([]byte, 64<<20+1)}}, []string{"s/a/2"}); !errors.Is(err, store.ErrFull) {
		t.Errorf("one that is too large: got %v, want %v", err, store.ErrFull)
	}
	if _, err := s.Get(ctx, store.Event, "s/a/2"); err != nil {
		t.Errorf("a refused change has removed a record: %v", err)
	}
}

// The letters of one session leave those of another session of its caller in place. Together they are bounded by a refusal.
func TestAppend_lettersAreBoundedBySession(t *testing.T) {
	s, c, _ := open(t)
	ctx, soon := t.Context(), c.Now().Add(time.Minute)
	send := func(session string, from, n, size int) error {
		var all []store.Record
		for i := from; i < from+n; i++ {
			all = append(all, store.Record{ID: fmt.Sprintf("%s/%05d", session, i), Data: make([]byte, size), Expires: soon})
		}
		return s.Append(ctx, store.Mail, "token:ann", all, nil)
	}
	kept := func(session string) (n int, last string) {
		list, err := s.NamesBelow(ctx, store.Mail, session)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: got %d letters, %v", session, len(list), err)
		}
		return len(list), list[len(list)-1].ID
	}
	if err := errors.Join(send("s", 0, 1, 1), send("t", 0, 600, 1), send("t", 600, 1, 32<<20)); err != nil {
		t.Fatal(err)
	}
	if n, last := kept("t"); n != 1 || last != "t/00600" {
		t.Errorf("the flooded session has %d letters, the last is %s, want the largest alone", n, last)
	}
	if err := send("t", 601, 300, 1); err != nil {
		t.Fatal(err)
	}
	if n, last := kept("t"); n > 256 || last != "t/00900" {
		t.Errorf("the flooded session has %d letters, the last is %s, want 256 at most and the newest", n, last)
	}
	if n, _ := kept("s"); n != 1 {
		t.Errorf("the other session has %d letters, want its one", n)
	}
	if err := send("t", 1000, 1, 32<<20+1); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("one that is too large: got %v, want %v", err, store.ErrTooLarge)
	}
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = send(fmt.Sprint("u", i), 0, 200, 1)
	}
	if !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrTooLarge) {
		t.Errorf("too many in all: got %v, want %v", err, store.ErrFull)
	}
	for session, want := range map[string]int{"s": 1, "u0": 200, "u5": 200} {
		if n, _ := kept(session); n != want {
			t.Errorf("%s has %d letters, want %d: a letter of another session took a place", session, n, want)
		}
	}
	if err := errors.Join(s.RemoveBelow(ctx, store.Mail, "u0"), send("s", 1, 100, 1)); err != nil {
		t.Errorf("after letters have gone: %v", err)
	}
}

// Callers without a name share one bound. The session with the most bytes makes room for the others, and one that would have
// the most itself is refused.
func TestAppend_lettersOfAnonymousCallersAreSharedOut(t *testing.T) {
	s, c, _ := open(t)
	send := func(session string, n, size int) error {
		var all []store.Record
		for i := range n {
			all = append(all, store.Record{ID: fmt.Sprintf("%s/%05d", session, i), Data: make([]byte, size), Expires: c.Now().Add(time.Minute)})
		}
		return s.Append(t.Context(), store.Mail, "anonymous", all, nil)
	}
	if err := send("first", 4, 1000); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := send(fmt.Sprint("flood", i), 1, 31<<20); err != nil && (i < 4 || !errors.Is(err, store.ErrFull)) {
			t.Fatal(err)
		}
	}
	if err := send("second", 4, 2<<20); err != nil {
		t.Errorf("beside a flood: got %v, want room", err)
	}
	for _, session := range []string{"first", "second"} {
		if list, err := s.NamesBelow(t.Context(), store.Mail, session); err != nil || len(list) != 4 {
			t.Errorf("%s: got %d letters, %v, want its 4", session, len(list), err)
		}
	}
	if err := send("largest", 1, 32<<20); !errors.Is(err, store.ErrFull) {
		t.Errorf("no session has more: got %v, want %v", err, store.ErrFull)
	}
}

// A change of a session, its events or its mail wakes every host with its kind and ID, and other changes do not.
func TestWakes_nameTheSession(t *testing.T) {
	s, c, dir := open(t)
	o := storetest.Options(t, dir)
	o.Now = c.Now
	other := storetest.Open(t, o)
	heard := make(chan string, 100)
	stop, ok := other.OnSession(func(k store.Kind, id string) { heard <- string(k) + " " + id })
	defer stop()
	if ok != storetest.Postgres {
		t.Fatalf("got notices %v, want %v", ok, storetest.Postgres)
	}
	if !ok {
		return // such a store has none, which its users are told
	}
	if got := receive(t, heard); got != " " {
		t.Errorf("at the beginning: got %q, want a notice that changes may have been missed", got)
	}
	ctx, later := t.Context(), c.Now().Add(time.Hour)
	add(t, s, store.Record{ID: "task", Principal: "a", Expires: later})
	for _, change := range []func() error{
		func() (err error) {
			_, err = s.Add(ctx, store.Session, store.Record{ID: "ABC", Principal: "a", Expires: later})
			return err
		},
		func() error {
			return s.Change(ctx, store.Session, "a", []store.Record{{ID: "ABC", Expires: later}}, func(data [][]byte) ([][]byte, error) { return data, nil })
		},
		func() error {
			return s.Append(ctx, store.Event, "a", []store.Record{{ID: "ABC/x/1", Expires: later}}, nil)
		},
		func() error {
			return s.Append(ctx, store.Mail, "a", []store.Record{{ID: "ABC/y", Expires: later}}, nil)
		},
		func() error { return s.Append(ctx, store.Event, "a", nil, []string{"ABC/x/1"}) },
		func() error { return s.Remove(ctx, store.Session, "ABC") },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"session ABC", "session ABC", "event ABC", "mail ABC", "session ABC"} {
		if got := receive(t, heard); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return v
}
