package codecache

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// putCodes returns a folder with the code of marks, of one size, and the entry of each.
func putCodes(t *testing.T, size int, marks ...string) (Folder, map[string][]byte) {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, mark := range marks {
		all[mark] = bytes.Repeat([]byte(mark), size/len(mark))
		if err := f.PutCode(mark, engineKey(), bytes.NewReader(all[mark])); err != nil {
			t.Fatal(err)
		}
	}
	return f, all
}

// plainCodes returns the marks whose code takes its whole size.
func plainCodes(t *testing.T, f Folder, entries map[string][]byte) (marks string) {
	t.Helper()
	for _, mark := range []string{"a", "b", "c"} {
		info, err := os.Stat(f.codeFile(mark))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > int64(len(entries[mark])) {
			marks += mark
		}
		if got, err := codeOf(f, mark); err != nil || !bytes.Equal(got, entries[mark]) {
			t.Errorf("%s: got %d bytes, %v; want those that were stored", mark, len(got), err)
		}
	}
	return marks
}

func TestFolder_keepsCodePlain(t *testing.T) {
	const size = 2*piece + 9
	f, entries := putCodes(t, size, "a", "b", "c")
	used := time.Now().Add(-touchAfter / 2).Truncate(time.Second)
	for _, step := range []struct {
		marks []string
		max   uint64
		want  string
	}{
		{nil, 9 * size, ""},
		{[]string{"a"}, 9 * size, "a"},
		{[]string{"b", "a"}, 9 * size, "ab"},
		{[]string{"c", "unknown", "b"}, 9 * size, "bc"},
		{[]string{"a", "b", "c"}, 2 * size, "ab"},
		{[]string{"c", "a", "b"}, size, "c"},
		{[]string{"c"}, size - 1, ""},
	} {
		for mark := range entries {
			if err := os.Chtimes(f.codeFile(mark), used, used); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := f.KeepPlain(step.marks, step.max); err != nil {
				t.Fatal(err)
			}
		}
		if got := plainCodes(t, f, entries); got != step.want {
			t.Errorf("%v in %d bytes: got plain code of %q, want %q", step.marks, step.max, got, step.want)
		}
		for mark := range entries {
			if info, err := os.Stat(f.codeFile(mark)); err != nil || !info.ModTime().Equal(used) {
				t.Errorf("%v: %s was used at %v, %v; want %v", step.marks, mark, info.ModTime(), err, used)
			}
		}
	}
}

// Plain code is no less guarded, and damaged code is left to the load that finds it.
func TestFolder_leavesDamagedCode(t *testing.T) {
	f, entries := putCodes(t, piece+9, "a", "b", "c")
	if err := f.KeepPlain([]string{"a"}, maxModule); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"a", "b"} {
		file := f.codeFile(mark)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)-1] ^= 1
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := codeOf(f, mark); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: got %v, want %v", mark, err, ErrChanged)
		}
	}
	if err := f.KeepPlain([]string{"b", "c"}, maxModule); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if got, err := codeOf(f, "c"); err != nil || !bytes.Equal(got, entries["c"]) {
		t.Errorf("got %d bytes, %v; want those that were stored", len(got), err)
	}
	if info, err := os.Stat(f.codeFile("c")); err != nil || info.Size() < piece {
		t.Errorf("got %d bytes, %v; want plain code", info.Size(), err)
	}
}

// Code that is truncated while it is stored again is not sealed as a shorter one.
func TestFolder_storesNoTruncatedCodeAgain(t *testing.T) {
	for _, plain := range []bool{false, true} {
		f, _ := putCodes(t, 3*piece, "a")
		c, err := f.Code("a")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := os.Truncate(f.codeFile("a"), c.pieces[2].at); err != nil {
			t.Fatal(err)
		}
		if s, err := split(c.Open(), plain); !errors.Is(err, ErrChanged) {
			t.Errorf("%v: got %d bytes, %v; want %v", plain, s.size, err, ErrChanged)
		}
	}
}
