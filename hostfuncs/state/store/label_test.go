package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

func ids(t *testing.T) func([]store.Record, error) string {
	return func(all []store.Record, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var out string
		for _, r := range all {
			out += r.ID + " "
		}
		return out
	}
}

func TestLabelled_sortsByLabel(t *testing.T) {
	s, c, _ := open(t)
	ctx, list := t.Context(), ids(t)
	if got := list(s.Labelled(ctx, store.Task, "")); got != "" {
		t.Errorf("labelled in an empty store: got %q, want none", got)
	}
	a := add(t, s, store.Record{ID: "a", Label: "x"})
	add(t, s, store.Record{ID: "b"})
	add(t, s, store.Record{ID: "c", Label: "y"})
	add(t, s, store.Record{ID: "d", Label: "x", Expires: c.Now().Add(time.Second)})
	if got := list(s.Labelled(ctx, store.Task, "x")) + list(s.Labelled(ctx, store.Task, "")) + list(s.Labelled(ctx, store.Result, "")); got != "a d a d c " {
		t.Errorf("labelled: got %q, want a d, then a d c, then none", got)
	}
	a.Label = ""
	if _, err := s.Replace(ctx, store.Task, a); err != nil {
		t.Fatal(err)
	}
	c.Pass(time.Second)
	if got := list(s.Labelled(ctx, store.Task, "")); got != "c " {
		t.Errorf("labelled after d expired: got %q, want c", got)
	}
}

func TestBelow_findsAndRemovesPrefix(t *testing.T) {
	s, _, _ := open(t)
	ctx, list := t.Context(), ids(t)
	for _, id := range []string{"a", "a/2", "a/1", "a0", "ab/1", "b/1"} {
		add(t, s, store.Record{ID: id})
	}
	if got := list(s.Below(ctx, store.Task, "a")); got != "a/1 a/2 " {
		t.Errorf("below a: got %q, want a/1 a/2", got)
	}
	if err := s.RemoveBelow(ctx, store.Task, "a"); err != nil {
		t.Fatal(err)
	}
	if got := list(s.List(ctx, store.Task, "", "", 0)); got != "a a0 ab/1 b/1 " {
		t.Errorf("after the removal: got %q, want a a0 ab/1 b/1", got)
	}
}

// hold is the second process of TestGone_afterHolderEnds. It holds a name until it is killed.
func hold(dir string) int {
	s := store.New(store.Options{Dir: dir, URL: os.Getenv("STORE_TEST_URL")})
	if err := s.Hold("other"); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print("held")
	var p [1]byte
	_, _ = os.Stdin.Read(p[:])
	return 0
}

func TestGone_afterHolderEnds(t *testing.T) {
	s, _, dir := open(t)
	if !s.Gone("nobody") {
		t.Errorf("a name that was never held: got gone false, want true")
	}
	if err := s.Hold("mine"); err != nil {
		t.Fatal(err)
	}
	second := store.New(storetest.Options(t, dir))
	if s.Gone("mine") || second.Gone("mine") {
		t.Errorf("a held name: got gone %t, %t, want false", s.Gone("mine"), second.Gone("mine"))
	}
	if err := second.Hold("mine"); !errors.Is(err, store.ErrExists) {
		t.Errorf("held twice: got %v, want %v", err, store.ErrExists)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, "STORE_TEST_HOLD=1", "STORE_TEST_URL="+storetest.Options(t, dir).URL)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if s.Gone("other") {
		t.Errorf("a process that runs: got gone true, want false")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // fails: the process was killed
	if storetest.Postgres {
		endLease(t, s, "other")
	}
	for range 2 { // the first call removes its file
		if !s.Gone("other") {
			t.Errorf("a process that was killed: got gone false, want true")
		}
	}
}

// endLease has the lease of a name end, which is some seconds after the end of its process.
func endLease(t *testing.T, s *store.Store, name string) {
	t.Helper()
	db, err := s.SQL(t.Context())
	if err == nil {
		_, err = db.Exec("UPDATE presence SET until = clock_timestamp() WHERE name = $1", []byte(name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The version changes with each write, also of other processes, and in a file only then.
func TestVersion_changesWithEachWrite(t *testing.T) {
	s, _, dir := open(t)
	second := store.New(storetest.Options(t, dir))
	defer second.Close()
	last := int64(0)
	moved := func(want bool) {
		t.Helper()
		now, err := s.Version(t.Context())
		if err != nil || now != last != want && (want || !storetest.Postgres) {
			t.Errorf("got version %d after %d, %v, want a new one: %t", now, last, err, want)
		}
		last = now
	}
	moved(false)
	r, err := second.Add(t.Context(), store.Task, store.Record{ID: "a", Principal: "p"})
	if err != nil {
		t.Fatal(err)
	}
	moved(true)
	moved(false)
	if _, err := second.Get(t.Context(), store.Task, "a"); err != nil {
		t.Fatal(err)
	}
	moved(false)
	if _, err := second.Replace(t.Context(), store.Task, r); err != nil {
		t.Fatal(err)
	}
	moved(true)
}

// Each operation is told with its name and its error, and finished and expired records are not counted.
func TestStore_tellsOperationsAndCountsByLabel(t *testing.T) {
	o := storetest.Options(t, t.TempDir())
	var told []string
	o.Took = func(operation string, d time.Duration, err error) {
		if told = append(told, fmt.Sprint(operation, " ", err)); d <= 0 {
			t.Errorf("%s took %v, want some time", operation, d)
		}
	}
	s := storetest.Open(t, o)
	ctx := t.Context()
	if working, waiting, err := s.Tally(ctx, store.Task); working != 0 || waiting != 0 || err != nil {
		t.Errorf("an empty store: got %d and %d records, %v, want none", working, waiting, err)
	}
	for i, label := range []string{"A", "B", "7", "", "", store.Done} {
		r := store.Record{ID: fmt.Sprint(i), Principal: "a", Label: label, Expires: time.Now().Add(time.Hour)}
		if _, err := s.Add(ctx, store.Task, r); err != nil {
			t.Fatal(err)
		}
		r.ID, r.Expires = "over"+r.ID, time.Now().Add(-time.Hour)
		if _, err := s.Add(ctx, store.Task, r); err != nil {
			t.Fatal(err)
		}
	}
	if working, waiting, err := s.Tally(ctx, store.Task); working != 3 || waiting != 2 || err != nil {
		t.Errorf("got %d records with a label and %d without, %v, want 3 and 2", working, waiting, err)
	}
	told = nil
	_, _ = s.Add(ctx, store.Task, store.Record{ID: "0", Principal: "a"})
	_, _ = s.Get(ctx, store.Task, "nosuch")
	if want := []string{"write " + store.ErrExists.Error(), "read " + store.ErrNotFound.Error()}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
}
