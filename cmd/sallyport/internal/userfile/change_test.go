package userfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func appended(old []byte) ([]byte, error) { return append(bytes.Clone(old), "new\n"...), nil }

// A concurrent change of the file is not overwritten, and no backup is left.
func TestChange_refusesAConcurrentChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, before := range []string{"", "old\n"} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if before != "" {
			write(before)
		}
		_, err := Change(file, func(old []byte) ([]byte, error) {
			write("theirs\n")
			return appended(old)
		}, Options{Backup: true})
		if !errors.Is(err, ErrMeanwhile) {
			t.Errorf("%q: got %v, want %v", before, err, ErrMeanwhile)
		}
		if text, _ := os.ReadFile(file); string(text) != "theirs\n" {
			t.Errorf("%q: got %s, want theirs", before, text)
		}
		if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
			t.Errorf("%q: got files %v left, want none", before, left)
		}
	}
}

// Links stay, including dangling ones, and modes too.
func TestChange_keepsLinksAndModes(t *testing.T) {
	dir := t.TempDir()
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "sub", "file")
	if err := os.Symlink(filepath.Join("sub", "file"), link); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"new\n", "new\nnew\n"} {
		backup, err := Change(link, appended, Options{Backup: true})
		if err != nil || (backup != "") != (i > 0) {
			t.Fatalf("change %d: got backup %q, %v, want one after the first", i, backup, err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %v", text, err, want)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link: got %v, %v, want a link", info, err)
		}
		if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file: got %v, %v, want mode 640", info, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := Change(loop, appended, Options{}); err == nil || !strings.Contains(err.Error(), "too many links") {
		t.Errorf("got %v, want an error, %q in it", err, "too many links")
	}
}

// A folder, a read-only file, and a file with a failing edit stay unchanged.
func TestChange_writesNothingOnAnError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	no := errors.New("no")
	if _, err := Change(file, func([]byte) ([]byte, error) { return nil, no }, Options{}); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Errorf("the file: got it made, want none")
	}
	if _, err := Change(dir, appended, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v, want an error, %q in it", err, "not a regular file")
	}
	if err := os.WriteFile(file, []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Change(file, appended, Options{}); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v, want an error, %q in it", err, "read-only")
	}
}
