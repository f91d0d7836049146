package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

func open(t *testing.T) (*store.Store, *storetest.Clock, string) {
	t.Helper()
	c, dir := storetest.NewClock(time.UnixMilli(1_700_000_000_000)), filepath.Join(t.TempDir(), "state")
	o := storetest.Options(t, dir)
	o.Now = c.Now
	return storetest.Open(t, o), c, dir
}

func add(t *testing.T, s *store.Store, r store.Record) store.Record {
	t.Helper()
	r, err := s.Add(t.Context(), store.Task, r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecord_life(t *testing.T) {
	s, c, dir := open(t)
	ctx := t.Context()
	r := add(t, s, store.Record{ID: "a", Principal: "stdio:1", Label: "sha256:x", Data: []byte("one"), Expires: c.Now().Add(time.Minute)})
	if _, err := s.Add(ctx, store.Task, store.Record{ID: "a"}); !errors.Is(err, store.ErrExists) {
		t.Errorf("added twice: got %v, want %v", err, store.ErrExists)
	}
	if _, err := s.Add(ctx, store.Result, store.Record{ID: "a"}); err != nil {
		t.Errorf("the same ID in another kind: got %v, want success", err)
	}
	o := storetest.Options(t, dir)
	o.Now = c.Now
	other := store.New(o) // a store of a second process
	defer other.Close()
	got, err := other.Get(ctx, store.Task, "a")
	if err != nil || string(got.Data) != "one" || got.Principal != "stdio:1" || got.Label != "sha256:x" ||
		!got.Expires.Equal(r.Expires) || got.Version != r.Version || !got.Created.Equal(c.Now()) {
		t.Errorf("got %+v, %v, want %+v", got, err, r)
	}
	got.Data, got.Expires = []byte("two"), c.Now().Add(time.Hour)
	if _, err := other.Replace(ctx, store.Task, got); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replace(ctx, store.Task, r); !errors.Is(err, store.ErrConflict) {
		t.Errorf("replaced after a change: got %v, want %v", err, store.ErrConflict)
	}
	c.Pass(59 * time.Minute)
	if got, err := s.Get(ctx, store.Task, "a"); err != nil || string(got.Data) != "two" {
		t.Errorf("before it expires: got %+v, %v, want data two", got, err)
	}
	c.Pass(time.Minute)
	if _, err := s.Get(ctx, store.Task, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("expired: got %v, want %v", err, store.ErrNotFound)
	}
	three := add(t, s, store.Record{ID: "a", Data: []byte("three"), Expires: c.Now().Add(time.Minute)})
	if err := other.RemoveVersion(ctx, store.Task, "a", got.Version); !errors.Is(err, store.ErrConflict) {
		t.Errorf("removed at a former version: got %v, want %v", err, store.ErrConflict)
	}
	if got, err := s.Get(ctx, store.Task, "a"); err != nil || string(got.Data) != "three" {
		t.Errorf("after that: got %+v, %v, want data three", got, err)
	}
	for range 2 { // there, and gone
		if err := other.RemoveVersion(ctx, store.Task, "a", three.Version); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Get(ctx, store.Task, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed at its version: got %v, want %v", err, store.ErrNotFound)
	}
	add(t, s, store.Record{ID: "a", Data: []byte("three")})
	if err := s.Remove(ctx, store.Task, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, store.Task, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed: got %v, want %v", err, store.ErrNotFound)
	}
}

func TestRecord_list(t *testing.T) {
	s, _, _ := open(t)
	for i := range 7 {
		add(t, s, store.Record{ID: fmt.Sprint("id", i), Principal: fmt.Sprint("p", i%2)})
	}
	var ids []string
	for after := ""; ; {
		page, err := s.List(t.Context(), store.Task, "p0", after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			ids, after = append(ids, r.ID), r.ID
		}
		if len(page) < 3 {
			break
		}
	}
	if got := strings.Join(ids, " "); got != "id0 id2 id4 id6" {
		t.Errorf("pages: got %q, want id0 id2 id4 id6", got)
	}
	if all, err := s.List(t.Context(), store.Task, "", "", 0); len(all) != 7 || err != nil {
		t.Errorf("all: got %d records, %v, want 7", len(all), err)
	}
}

// A principal at its limit neither fills the disk nor uses the room of others.
func TestRecord_bounds(t *testing.T) {
	s, c, _ := open(t)
	ctx := t.Context()
	large := bytes.Repeat([]byte("x"), 20<<20)
	for i := range 5 {
		c.Pass(time.Second)
		if _, err := s.Add(ctx, store.Result, store.Record{ID: fmt.Sprint(i), Principal: "a", Data: large}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Add(ctx, store.Result, store.Record{ID: fmt.Sprint("b", i), Principal: "b", Data: []byte("b")}); err != nil {
			t.Fatal(err)
		}
	}
	have := func(principal string) (ids string) {
		all, err := s.List(ctx, store.Result, principal, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			ids += r.ID + " "
		}
		return ids
	}
	if got := have("a"); got != "2 3 4 " {
		t.Errorf("records of a: got %q, want 2 3 4", got)
	}
	if got := have("b"); got != "b0 b1 b2 b3 b4 " {
		t.Errorf("records of b: got %q, want b0 b1 b2 b3 b4", got)
	}
	for i := range 3 {
		_, err := s.Add(ctx, store.Head, store.Record{ID: fmt.Sprint(i), Principal: "a", Data: append(large, large[:10<<20]...)})
		if want := i == 2; errors.Is(err, store.ErrFull) != want {
			t.Errorf("large record %d: got %v, want %v: %t", i, err, store.ErrFull, want)
		}
	}
}

// Finished records are removed for new ones, oldest first. Others are not, and the error has the limit.
func TestRecord_done(t *testing.T) {
	s, c, _ := open(t)
	large := bytes.Repeat([]byte("x"), 60<<20)
	add := func(id, label string) error {
		c.Pass(time.Second)
		_, err := s.Add(t.Context(), store.Task, store.Record{ID: id, Principal: "a", Label: label, Data: large})
		return err
	}
	for id, label := range []string{"owner", store.Done, "", store.Done} {
		if err := add(fmt.Sprint(id), label); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.Labelled(t.Context(), store.Task, ""); err != nil || len(list) != 1 || list[0].ID != "0" {
		t.Errorf("labelled: got %v, %v, want only record 0", list, err)
	}
	have := func() (ids string) {
		all, err := s.List(t.Context(), store.Task, "a", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			ids += r.ID + " "
		}
		return ids
	}
	if err := add("4", "owner"); err != nil || have() != "0 2 3 4 " {
		t.Errorf("add 4: got %v and records %q, want success and 0 2 3 4", err, have())
	}
	if err := add("5", "owner"); err != nil || have() != "0 2 4 5 " {
		t.Errorf("add 5: got %v and records %q, want success and 0 2 4 5", err, have())
	}
	err := add("6", "owner")
	if !errors.Is(err, store.ErrFull) || err.Error() != "no room left: one caller has 10000 at most, of 256 MiB in all" || have() != "0 2 4 5 " {
		t.Errorf("add 6: got %v and records %q, want %v and 0 2 4 5", err, have(), store.ErrFull)
	}
}

func TestKV_quotaVersionsAndExpiry(t *testing.T) {
	s, c, _ := open(t)
	ctx, sp := t.Context(), store.Space{Plugin: "p", Principal: "a"}
	set := func(w ...store.Write) error { return s.Commit(ctx, sp, 100, w, nil) }
	value := func(sp store.Space, key string) string {
		item, err := s.Value(ctx, sp, key)
		if errors.Is(err, store.ErrNotFound) {
			return "-"
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(item.Value)
	}
	absent, wrong := int64(0), int64(12345)
	if err := set(store.Write{Key: "k", Value: []byte("1"), If: &absent}, store.Write{Key: "l", Value: []byte("2"), Expires: c.Now().Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []store.Write{{Key: "k", Value: []byte("x"), If: &absent}, {Key: "k", Delete: true, If: &wrong}, {Key: "none", If: &wrong}} {
		err := set(store.Write{Key: "first", Value: []byte("x")}, w)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) || conflict.Key != w.Key || !errors.Is(err, store.ErrConflict) {
			t.Error(err)
		}
	}
	if got := value(sp, "first") + value(sp, "k") + value(sp, "l") + value(store.Space{Plugin: "p", Principal: "b"}, "k"); got != "-12-" {
		t.Errorf("values: got %s, want -12-", got)
	}
	item, err := s.Value(ctx, sp, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := set(store.Write{Key: "k", Value: []byte("3"), If: &item.Version}); err != nil {
		t.Error(err)
	}
	if err := set(store.Write{Key: "big", Value: make([]byte, 96)}); !errors.Is(err, store.ErrFull) || value(sp, "big") != "-" {
		t.Errorf("over the quota: got %v and value %s, want %v and -", err, value(sp, "big"), store.ErrFull)
	}
	failed := errors.New("failed")
	if err := s.Commit(ctx, sp, 100, []store.Write{{Key: "k", Value: []byte("4")}}, func() error { return failed }); !errors.Is(err, failed) || value(sp, "k") != "3" {
		t.Errorf("commit whose callback failed: got %v and value %s, want %v and 3", err, value(sp, "k"), failed)
	}
	c.Pass(time.Second)
	if got := value(sp, "l"); got != "-" {
		t.Errorf("expired: got %s, want -", got)
	}
	if err := set(store.Write{Key: "big", Value: make([]byte, 95)}); err != nil {
		t.Errorf("room of an expired key: got %v, want success", err)
	}
}

func TestKV_keys(t *testing.T) {
	s, _, _ := open(t)
	ctx, sp := t.Context(), store.Space{Plugin: "p"}
	var writes []store.Write
	for _, k := range []string{"a/1", "a/2", "a/3", "a%", "b", "A/1", "ä/1", "c\ufffd", "c\uffff", "\xff", "\xff\xff", "\xfe"} {
		writes = append(writes, store.Write{Key: k, Value: []byte("v")})
	}
	if err := s.Commit(ctx, sp, 1<<20, writes, nil); err != nil {
		t.Fatal(err)
	}
	list := func(prefix, after string, n int) (keys string) {
		items, err := s.Keys(ctx, sp, prefix, after, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			keys += i.Key + " "
		}
		return keys
	}
	for _, c := range []struct {
		prefix, after string
		n             int
		want          string
	}{{"a/", "", 2, "a/1 a/2 "}, {"a/", "a/2", 2, "a/3 "}, {"a%", "", 9, "a% "}, {"ä", "", 9, "ä/1 "}, {"", "", 99, "A/1 a% a/1 a/2 a/3 b c\ufffd c\uffff ä/1 \xfe \xff \xff\xff "},
		{"c\ufffd", "", 9, "c\ufffd "}, {"\xff", "", 9, "\xff \xff\xff "}, {"\xfe", "", 9, "\xfe "}} {
		if got := list(c.prefix, c.after, c.n); got != c.want {
			t.Errorf("%q after %q: got %s, want %s", c.prefix, c.after, got, c.want)
		}
	}
}

// TestMain also runs the other processes of TestStore_processes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" && os.Getenv("STORE_TEST_HOLD") != "" {
		os.Exit(hold(dir))
	} else if dir != "" {
		os.Exit(count(dir))
	}
	os.Exit(m.Run())
}

// rounds is the number of increments of each process.
const rounds = 25

// count increments one key, with retries after conflicts.
func count(dir string) int {
	s := store.New(store.Options{Dir: dir, URL: os.Getenv("STORE_TEST_URL")})
	defer s.Close()
	sp := store.Space{Plugin: "p"}
	for done := 0; done < rounds; {
		item, err := s.Value(context.Background(), sp, "n")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			fmt.Println(err)
			return 1
		}
		err = s.Commit(context.Background(), sp, 1<<20, []store.Write{{Key: "n", Value: append(item.Value, '.'), If: &item.Version}}, nil)
		switch {
		case err == nil:
			done++
		case !errors.Is(err, store.ErrConflict):
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

// Four concurrent processes share the file and lose no write.
func TestStore_processes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, "STORE_TEST_URL="+storetest.Options(t, dir).URL)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("another process: got %v, want success: %s", err, out)
			}
		})
	}
	work.Wait()
	s := store.New(storetest.Options(t, dir))
	defer s.Close()
	item, err := s.Value(t.Context(), store.Space{Plugin: "p"}, "n")
	if err != nil || len(item.Value) != 4*rounds {
		t.Errorf("got %d increments, %v, want %d", len(item.Value), err, 4*rounds)
	}
}
