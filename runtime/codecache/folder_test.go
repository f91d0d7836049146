package codecache

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestOpen_refusesFoldersOthersCanWriteTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits say nothing here")
	}
	dir := t.TempDir()
	make := func(name string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	open, readable := make("open", 0o777), make("readable", 0o755)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(readable, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		open: "cache folder " + open + ": others may write to it (mode 0777); remove it, or empty it and run chmod 700",
		file: "cache folder: mkdir " + file,
		link: "cache folder " + link + ": not a folder (a link is not followed)",
	} {
		_, err := Open(path)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q at its begin", path, err, want)
		}
	}
	if _, err := Open(readable); err != nil {
		t.Error(err)
	}
	if info, _ := os.Stat(readable); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}

// Abandoned temporary files are removed, and the oldest entries until a quarter of the limit is free.
func TestFolder_trimRemovesTheOldestEntries(t *testing.T) {
	f, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(string(f), "code")
	if err := os.Mkdir(version, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name string, size int, age time.Duration) {
		file := filepath.Join(version, name)
		if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("oldest", 300, 4*time.Hour)
	put("old", 300, 3*time.Hour)
	put("new", 300, 2*time.Hour)
	put("half.123.tmp", 10, 2*time.Hour)
	put("half.124.tmp", 10, time.Minute)
	names := func() (all []string) {
		entries, _ := os.ReadDir(version)
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	for _, c := range []struct {
		max  int64
		want int
	}{{1000, 4}, {900, 3}, {300, 1}} {
		if err := f.Trim(c.max); err != nil {
			t.Fatal(err)
		}
		if got := names(); len(got) != c.want {
			t.Errorf("at most %d bytes: %v", c.max, got)
		}
	}
	if got := names(); got[0] != "half.124.tmp" {
		t.Errorf("%v is left", got)
	}
}

func TestFolder_prunesUnusedEntriesAndThoseOfFormerVersions(t *testing.T) {
	f, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(age time.Duration, path ...string) string {
		file := filepath.Join(append([]string{string(f)}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, 10), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		for _, p := range []string{file, filepath.Dir(file)} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
		return file
	}
	kept := []string{put(time.Hour, "code", "used"), put(time.Hour, "modules", "used"), put(time.Hour, "load-1", "entry")}
	gone := []string{
		put(3*time.Hour, "code", "unused"), put(3*time.Hour, "modules", "unused"),
		put(time.Minute, "wazero-v1-amd64-linux", "entry"), put(time.Minute, "known", "mark"),
		put(25*time.Hour, "load-2", "entry"), put(2*time.Hour, "code", "half.1.tmp"),
	}
	files, freed, left, err := f.Prune(2 * time.Hour)
	if err != nil || files != 4 || freed != 40 || left != 20 {
		t.Errorf("got %d files of %d bytes removed, %d left, %v; want 4 of 40, 20, no error", files, freed, left, err)
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("got %v, want it kept", err)
		}
	}
	for _, path := range gone {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
}

// A module that is used stays longer than one that is not.
func TestFolder_recordsTheUseOfEntries(t *testing.T) {
	f, stored := putCode(t)
	old := time.Now().Add(-2 * touchAfter)
	if err := os.Chtimes(stored, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := codeOf(f, "abc"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(stored); err != nil || time.Since(info.ModTime()) > touchAfter {
		t.Errorf("got the time %v, %v; want the present", info.ModTime(), err)
	}
}
