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
