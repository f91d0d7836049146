package jail_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// anything allows everything.
type anything struct{}

func (anything) Allow(jail.Op, string) error { return nil }

// An added mount is visible at once. A mount inside it becomes an ordinary folder, which can be moved. Both are
// closed.
func TestTree_addShowsMountAtOnce(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/x", "a/b/f"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	guest := jail.GuestPath(dir)
	files := jail.New([]jail.Mount{{Host: filepath.Join(dir, "a", "b")}}, anything{})
	sees := func(name string) bool {
		f, e := files.Open(guest+"/"+name, wasi.OpenOptions{Read: true})
		if e == wasi.ESUCCESS {
			f.Close()
		}
		return e == wasi.ESUCCESS
	}
	if !sees("a/b/f") || sees("a/x") {
		t.Errorf("before: got a/b/f seen %t, a/x seen %t, want true, false", sees("a/b/f"), sees("a/x"))
	}
	files.Add(jail.Mount{Host: filepath.Join(dir, "a")})
	files.Add(jail.Mount{Host: filepath.Join(dir, "a", "b")}) // adds nothing
	if !sees("a/b/f") || !sees("a/x") {
		t.Errorf("after: got a/b/f seen %t, a/x seen %t, want true, true", sees("a/b/f"), sees("a/x"))
	}
	if e := files.Rename(guest+"/a/b", guest+"/a/c"); e != wasi.ESUCCESS || !sees("a/c/f") || sees("a/b/f") {
		t.Errorf("renamed: got %v, a/c/f seen %t, a/b/f seen %t, want success, true, false", e, sees("a/c/f"), sees("a/b/f"))
	}
	files.Close()
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, fd := range open {
			if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && len(to) >= len(dir) && to[:len(dir)] == dir {
				t.Errorf("after the close: got %s open, want none", to)
			}
		}
	}
}
