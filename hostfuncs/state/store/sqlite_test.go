//go:build !postgres

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

func TestStore_readingMakesNothing(t *testing.T) {
	s, _, dir := open(t)
	if _, err := s.Get(t.Context(), store.Task, "x"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.Value(t.Context(), store.Space{}, "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("value in an empty store: got %v, want %v", err, store.ErrNotFound)
	}
	if all, err := s.Grants(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("grants in an empty store: got %v, %v, want none", all, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("reading an empty store: got a folder made, want none")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), store.Task, "x"); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}

func TestStore_fileIsItsOwnersOnly(t *testing.T) {
	s, _, dir := open(t)
	add(t, s, store.Record{ID: "a"})
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: got mode %v, want no access for others", f.Name(), info.Mode())
		}
	}
}

func TestStore_refusesAnotherVersion(t *testing.T) {
	s, _, dir := open(t)
	add(t, s, store.Record{ID: "a"})
	s.Close()
	file := filepath.Join(dir, "state.db")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[63] = 99 // the low byte of user_version in the SQLite file format
	for _, end := range []string{"-wal", "-shm"} {
		os.Remove(file + end)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	again := store.New(storetest.Options(t, dir))
	defer again.Close()
	if _, err := again.Get(t.Context(), store.Task, "a"); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Error(err)
	}
}
