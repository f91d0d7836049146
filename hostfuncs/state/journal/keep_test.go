package journal

import (
	"errors"
	"testing"
	"time"
)

// disk stores the parts of a kept journal.
type disk struct {
	parts [][]byte
	fails bool
}

func (d *disk) write(part []byte) error {
	if d.fails {
		return errors.New("the disk is full")
	}
	d.parts = append(d.parts, part)
	return nil
}

// after returns the journal of a call after its process was killed.
func (d *disk) after(t *testing.T, base *Journal) *Journal {
	t.Helper()
	if err := base.Continue(d.parts); err != nil {
		t.Fatal(err)
	}
	if err := base.Bind([]byte("plugin")); err != nil {
		t.Fatal(err)
	}
	base.Keep(d.write)
	return base
}

// change performs a request with side effects, unless crash names where the process ends: before Begin, or before the
// outcome.
func change(t *testing.T, j *Journal, request, crash string) (key string, err error) {
	t.Helper()
	_, replay, err := j.Next("fetch", []byte(request))
	if err != nil || replay || crash == "before" {
		return "", err
	}
	key = j.Key()
	if err := j.Begin("POST "+request, "fetch", []byte(request)); err != nil {
		return "", err
	}
	if crash != "during" {
		j.Record([]byte("did "+request), "fetch", []byte(request))
	}
	return key, nil
}

func TestKeep_continuesAfterCrash(t *testing.T) {
	now := time.Now()
	for _, crash := range []string{"before", "during", "after"} {
		d := &disk{}
		first := beginning(&now)
		first.Keep(d.write)
		if _, err := change(t, first, "a", ""); err != nil {
			t.Fatal(err)
		}
		do(t, first, "look", "x")
		first.Record([]byte("seen"), "look", []byte("x"))
		key, err := change(t, first, "b", crash)
		if err != nil {
			t.Fatal(err)
		}

		j := d.after(t, New())
		if outcome, replay := do(t, j, "fetch", "a"); !replay || outcome != "did a" {
			t.Errorf("%s: fetch a: got replay %t with %q, want true with did a", crash, replay, outcome)
		}
		if outcome, replay := do(t, j, "look", "x"); replay != (crash != "before") || replay && outcome != "seen" {
			t.Errorf("%s: look x: got replay %t with %q, want %t with seen", crash, replay, outcome, crash != "before")
		}
		if crash == "before" { // x was observed again
			j.Record([]byte("seen"), "look", []byte("x"))
		}
		_, replay, err := j.Next("fetch", []byte("b"))
		var unknown *UnknownError
		switch {
		case crash == "during" && (!errors.As(err, &unknown) || unknown.What != "POST b"):
			t.Errorf("%s: change b: got %v, want an unknown outcome of POST b", crash, err)
		case crash != "during" && (err != nil || replay != (crash == "after")):
			t.Errorf("%s: change b: got %v, replay %t, want success, replay %t", crash, err, replay, crash == "after")
		}
		if crash != "during" {
			continue
		}
		if family, what := j.Unfinished(); family != "fetch" || what != "POST b" {
			t.Errorf("unfinished: got %s %s, want fetch POST b", family, what)
		}
		j.Retry() // the operator allows a repetition
		if again, err := change(t, j, "b", ""); err != nil || again != key || key == "" {
			t.Errorf("sent again: got key %q, %v, want key %q", again, err, key)
		}
		if j = d.after(t, New()); len(j.entries) != 3 || j.last() != answered {
			t.Errorf("got entries %+v, want 3, the last answered", j.entries)
		}
	}
}

// A request does not begin if its record fails, and is not in the journal.
func TestKeep_fails(t *testing.T) {
	now := time.Now()
	d := &disk{}
	j := beginning(&now)
	j.Keep(d.write)
	if _, err := change(t, j, "a", "during"); err != nil {
		t.Fatal(err)
	}
	d.fails = true
	j.Record([]byte("did a"), "fetch", []byte("a")) // the outcome stays unknown
	if _, err := change(t, j, "b", ""); err == nil {
		t.Error("a change that cannot be kept: got success, want an error")
	}
	if _, what := d.after(t, New()).Unfinished(); what != "POST a" {
		t.Errorf("unfinished: got %q, want POST a", what)
	}
	d.fails = false
	if _, err := change(t, j, "b", ""); err != nil {
		t.Fatal(err)
	}
	j = d.after(t, New())
	for _, request := range []string{"a", "b"} {
		if outcome, replay := do(t, j, "fetch", request); !replay || outcome != "did "+request {
			t.Errorf("%s: got replay %t with %q, want true with did %s", request, replay, outcome, request)
		}
	}
}

// A run that begins at an answered question is continued from there.
func TestKeep_afterQuestion(t *testing.T) {
	now := time.Now()
	asked := beginning(&now)
	if _, err := change(t, asked, "a", ""); err != nil {
		t.Fatal(err)
	}
	if err := asked.Open("ask", []byte("q")); err != nil {
		t.Fatal(err)
	}
	state := func() *Journal { return again(t, asked) }
	d := &disk{}
	j := d.after(t, state())
	if _, err := change(t, j, "a", ""); err != nil {
		t.Fatal(err)
	}
	do(t, j, "ask", "q")
	j.Record([]byte("yes"), "ask", []byte("q"))
	if _, err := change(t, j, "b", ""); err != nil {
		t.Fatal(err)
	}
	j = d.after(t, state())
	for i, want := range []string{"did a", "yes", "did b"} {
		if j.entries[i].how != answered || string(j.entries[i].outcome) != want {
			t.Errorf("entry %d: got %+v, want %q answered", i, j.entries[i], want)
		}
	}
	if len(j.entries) != 3 || j.next != 0 {
		t.Errorf("got %+v, want 3 entries from the start", j)
	}
	foreign := beginning(&now)
	if err := foreign.Continue(d.parts); err != errFormat {
		t.Errorf("the parts of another journal: got %v, want %v", err, errFormat)
	}
}

// A call that exceeds the journal continues, but cannot be replayed.
func TestKeep_full(t *testing.T) {
	now := time.Now()
	d := &disk{}
	j := beginning(&now)
	j.Keep(d.write)
	j.Record(make([]byte, MaxSize), "look")
	first, err := change(t, j, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	written := len(d.parts)
	if second, err := change(t, j, "b", ""); err != nil || second == first || len(d.parts) != written {
		t.Errorf("change b: got %v, keys %s and %s, %d parts, want success, two keys, %d parts", err, first, second, len(d.parts), written)
	}
	if err := New().Continue(d.parts); err != ErrFull {
		t.Errorf("more parts than fit: got %v, want %v", err, ErrFull)
	}
}
