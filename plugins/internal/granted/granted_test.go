package granted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lead makes a folder look like a traversal folder.
func lead(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.Chtimes(dir, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoots_listsGrantedFolders(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"home/me/work/a", "home/me/notes", "data"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "home/me/one.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	lead(t, top+"/home/me", top+"/home", top)
	got := strings.ReplaceAll(strings.Join(roots(top, maxDescent), " "), top, "")
	if want := "/data /home/me/notes /home/me/one.txt /home/me/work"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.Mkdir(filepath.Join(top, "only"), 0o777); err != nil {
		t.Fatal(err)
	}
	lead(t, top+"/only", top)
	if got := roots(top+"/only", 1); len(got) != 1 || got[0] != top+"/only" {
		t.Errorf("a folder that leads to an absent one: got %v, want only %s", got, top+"/only")
	}
	if err := os.Remove(top + "/only"); err != nil {
		t.Fatal(err)
	}
	lead(t, top)
	if got := roots(top, 1); len(got) != 2 {
		t.Errorf("one level: got %v, want 2", got)
	}
	if got := roots(top+"/none", 1); got != nil {
		t.Errorf("nothing there: got %v, want nil", got)
	}
}

func TestClean_returnsAnAbsolutePath(t *testing.T) {
	for in, want := range map[string]string{
		"/a/../b": "/b", " /a ": "/a", "file:///x/y": "/x/y", `C:\Users\me`: "/c/Users/me", "D:/x": "/d/x", "etc": "/etc", "": "/", "../..": "/", `/a\b`: `/a\b`,
	} {
		if got, err := Clean(in); got != want || err != nil {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The home folder is unknown: ~ is an error, even if a file ~ exists in the working folder.
func TestClean_refusesTildeWithoutAHome(t *testing.T) {
	for _, in := range []string{"~", "~/work/a.txt", "file://~/a"} {
		if got, err := Clean(in); err == nil || !strings.Contains(err.Error(), "write the whole path") {
			t.Errorf("%s: got %q, %v; want an error that the path is to be whole", in, got, err)
		}
	}
	if got, err := Clean("/home/me/~x"); got != "/home/me/~x" || err != nil {
		t.Errorf("got %q, %v; want \"/home/me/~x\", no error", got, err)
	}
}

func TestExplain_saysWhyAPathFails(t *testing.T) {
	other := errors.New("on fire")
	for want, err := range map[string]error{
		"/x does not exist or is not granted; grants begin at /":                              &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist},
		"/x cannot be used like this: it is no ordinary file, or is granted for reading only": fs.ErrPermission,
		"/x: on fire": &fs.PathError{Op: "read", Path: "/x", Err: other},
	} {
		if got := Explain("/x", err); got == nil || got.Error() != want {
			t.Errorf("%v: got %v, want an error", err, got)
		}
	}
	if Explain("/x", nil) != nil {
		t.Errorf("Explain of no error: got %v, want none", Explain("/x", nil))
	}
	if !errors.Is(Explain("/x", other), other) {
		t.Errorf("got %v, want %v in it", Explain("/x", other), other)
	}
}

// A relative path resolves to a line that grants exactly its path, also before the file exists.
func TestJoined_matchesExactGrantsBeforeTheFileExists(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"work/a", "lead/b"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	lead(t, top+"/lead/b", top+"/lead")
	for _, c := range []struct{ dir, path, want string }{
		{"/work/a", "a", "/work/a"},
		{"/work/a", "work/a", "/work/a"},
		{"/work/a", "a/new.txt", ""}, // a folder that is granted as a whole
		{"/lead/b", "b/new.txt", "/lead/b/new.txt"},
		{"/lead/b", "lead/b/c/new.txt", "/lead/b/c/new.txt"},
		{"/lead/b", "new.txt", ""},
		{"/lead/b", "ead/b", ""},
	} {
		got, ok := joined(top+c.dir, c.path)
		if ok != (c.want != "") || ok && got != top+c.want {
			t.Errorf("%s, %s: got %q, %v; want %q below the top", c.dir, c.path, got, ok, c.want)
		}
	}
}
