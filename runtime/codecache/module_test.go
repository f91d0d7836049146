package codecache

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// putModule returns a folder with one module, "facts" and "wasm", and the path of its file.
func putModule(t *testing.T) (f Folder, path string) {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.PutModule("abc", "v1", []byte("facts"), []byte("wasm")); err != nil {
		t.Fatal(err)
	}
	return f, f.moduleFile("abc")
}

func TestFolder_returnsTheModuleThatItStored(t *testing.T) {
	f, path := putModule(t)
	facts, wasm, err := f.Module("abc", "v1")
	if err != nil || string(facts) != "facts" || string(wasm) != "wasm" {
		t.Errorf("got %q, %q, %v; want facts, wasm, no error", facts, wasm, err)
	}
	if info, err := os.Stat(path); err != nil || hasFileModes && info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600, no error", info.Mode(), err)
	}
	if _, _, err := f.Module("abd", "v1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a module that was never stored: got %v, want %v", err, fs.ErrNotExist)
	}
	if _, _, err := f.Module("abc", "v2"); !errors.Is(err, ErrOtherVersion) {
		t.Errorf("another version: got %v, want %v", err, ErrOtherVersion)
	}
	for _, c := range []struct {
		digest, version string
		want            bool
	}{{"abc", "v1", true}, {"abc", "v2", false}, {"abd", "v1", false}} {
		if got := f.HasModule(c.digest, c.version); got != c.want {
			t.Errorf("HasModule(%s, %s): got %v, want %v", c.digest, c.version, got, c.want)
		}
	}
	if err := f.PutModule("abc", "v2", nil, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if _, wasm, err := f.Module("abc", "v2"); err != nil || string(wasm) != "new" {
		t.Errorf("the other version after it was stored: got %q, %v; want new, no error", wasm, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("got %d files, want 1", len(left))
	}
}

func TestFolder_refusesAnyChangedModule(t *testing.T) {
	f, path := putModule(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if facts, wasm, err := f.Module("abc", "v1"); err == nil || facts != nil || wasm != nil {
			t.Errorf("%s: got %q, %q, %v; want an error only", what, facts, wasm, err)
		}
	}
	for i := range whole {
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << bit
			try("a flipped bit", flipped)
		}
		try("a truncated file", whole[:i])
	}
	try("a longer file", append(bytes.Clone(whole), 0))
}

func TestFolder_refusesTheModuleOfAnotherDigest(t *testing.T) {
	f, path := putModule(t)
	if err := os.Rename(path, f.moduleFile("abd")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Module("abd", "v1"); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want %v", err, ErrChanged)
	}
}

func TestFolder_refusesModuleFilesOthersCanWriteTo(t *testing.T) {
	if !hasFileModes {
		t.Skip("permission bits say nothing here")
	}
	f, path := putModule(t)
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Module("abc", "v1"); err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Errorf("got %v, want that others may write", err)
	}
}

func TestFolder_followsNoLinkToAModule(t *testing.T) {
	f, path := putModule(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(path, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Skip("this system makes no links:", err)
	}
	if _, _, err := f.Module("abc", "v1"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v, want not a regular file", err)
	}
	if err := f.PutModule("abc", "v1", nil, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(elsewhere); err != nil || !bytes.Contains(content, []byte("facts")) {
		t.Errorf("the link's target was written to: %q, %v", content, err)
	}
}

func TestFolder_leavesNoHalfModule(t *testing.T) {
	f, path := putModule(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // cannot be replaced
		t.Fatal(err)
	}
	if err := f.PutModule("abc", "v1", nil, []byte("new")); err == nil {
		t.Error("a folder was replaced by a module")
	}
	if _, _, err := f.Module("abc", "v1"); err == nil {
		t.Error("a folder was read as a module")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("got %d files, want the folder only", len(left))
	}
}

func TestReplace_keepsTheFormerFileOnAFullDisk(t *testing.T) {
	f, path := putModule(t)
	full := errors.New("no space left on device")
	err := replace(path, func(w *os.File) error {
		_, err := w.Write([]byte(moduleFormat))
		return errors.Join(err, full)
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if _, wasm, err := f.Module("abc", "v1"); err != nil || string(wasm) != "wasm" {
		t.Errorf("the former module: got %q, %v; want wasm, no error", wasm, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("got %d files, want 1", len(left))
	}
}

func TestFolder_trimCountsModules(t *testing.T) {
	f, _ := putModule(t)
	if err := f.Trim(1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Module("abc", "v1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}
