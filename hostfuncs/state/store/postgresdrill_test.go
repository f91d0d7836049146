//go:build postgres

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

// The disaster drill of docs/operating.md: a dump that pg_dump makes while hosts write is restored on a new server, after
// the roles. It has each transaction whole or not at all, and hosts go on with it under the role of least privilege.
func TestPostgres_isRestoredOnANewServer(t *testing.T) {
	roles, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	lost := postgrestest.New(t)
	if out, err := lost.SQL("owner", string(roles)); err != nil {
		t.Fatal(out, err)
	}
	if err := storetest.Open(t, store.Options{URL: lost.URL("sallyport_owner", "sallyport")}).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.Options{URL: lost.URL("sallyport", "sallyport")})
	stop, ended := make(chan struct{}), make(chan error, 1)
	begun := make(chan struct{})
	go func() { ended <- storePairs(t, s, begun, stop) }()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	dump, err := lost.Dump()
	if err != nil {
		t.Fatal(err)
	}
	close(stop)
	if err := errors.Join(<-ended, lost.Crash()); err != nil {
		t.Fatal(err)
	}
	found := postgrestest.New(t)
	if out, err := found.SQL("owner", string(roles)); err != nil {
		t.Fatal(out, err)
	}
	if err := found.Restore(dump); err != nil {
		t.Fatal(err)
	}
	r := storetest.Open(t, store.Options{URL: found.URL("sallyport", "sallyport")})
	if err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, errA := r.Value(t.Context(), pairSpace, "a")
	b, errB := r.Value(t.Context(), pairSpace, "b")
	if errA != nil || errB != nil || string(a.Value) != string(b.Value) {
		t.Errorf("got %s and %s, %v, want one number", a.Value, b.Value, errors.Join(errA, errB))
	}
	task, err := r.Get(t.Context(), store.Task, "1")
	if err != nil || string(task.Data) != "1" {
		t.Errorf("got %+v, %v, want the record of the first pair", task, err)
	}
	now, err := r.Replace(t.Context(), store.Task, task)
	if err != nil || now.Version <= max(task.Version, a.Version, b.Version) {
		t.Errorf("got %+v, %v, want a version that no write had before", now, err)
	}
}

var pairSpace = store.Space{Plugin: "p", Principal: "token:a"}

// storePairs stores the same number under two keys, after a record of its own, until stop is closed.
func storePairs(t *testing.T, s *store.Store, begun chan<- struct{}, stop <-chan struct{}) error {
	for n := 1; ; n++ {
		text := fmt.Sprint(n)
		if _, err := s.Add(t.Context(), store.Task, store.Record{ID: text, Principal: "token:a", Data: []byte(text)}); err != nil {
			return err
		}
		if err := s.Commit(t.Context(), pairSpace, 1<<20, []store.Write{{Key: "a", Value: []byte(text)}, {Key: "b", Value: []byte(text)}}, nil); err != nil {
			return err
		}
		if n == 3 {
			close(begun)
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}
