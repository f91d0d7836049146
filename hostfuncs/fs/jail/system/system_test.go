package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func TestErrno_translatesSystemErrors(t *testing.T) {
	_, missing := os.Stat(filepath.Join(t.TempDir(), "none"))
	for _, c := range []struct {
		err  error
		want wasi.Errno
	}{
		{nil, wasi.ESUCCESS}, {missing, wasi.ENOENT}, {fmt.Errorf("x: %w", wasi.EXDEV), wasi.EXDEV},
		{&fs.PathError{Op: "open", Err: syscall.ENOTDIR}, wasi.ENOTDIR}, {fs.ErrExist, wasi.EEXIST}, {fs.ErrPermission, wasi.EACCES},
		{fs.ErrClosed, wasi.EBADF}, {errors.ErrUnsupported, wasi.ENOTSUP}, {errors.New("what nobody knows"), wasi.EIO},
	} {
		if got := Errno(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// roots opens a folder and two folders below it.
func roots(t *testing.T) (top, a, b *os.Root) {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *os.Root {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		return root
	}
	return open("."), open("a"), open("b")
}

func TestRenameAndLink_betweenOpenFolders(t *testing.T) {
	top, a, b := roots(t)
	if err := a.WriteFile("x", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, y := Name{a, "x", top, filepath.Join("a", "x")}, Name{b, "y", top, filepath.Join("b", "y")}
	if err := Link(x, y); err != nil {
		t.Fatal(err)
	}
	first, _ := a.Stat("x")
	if second, err := b.Stat("y"); err != nil || !os.SameFile(first, second) {
		t.Errorf("the new name: got %v, %v, want the same file", second, err)
	}
	z := Name{b, "z", top, filepath.Join("b", "z")}
	if err := Rename(x, z); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Stat("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: got %v, want %v", err, fs.ErrNotExist)
	}
	if text, err := b.ReadFile("z"); err != nil || string(text) != "text" {
		t.Errorf("got %q, %v, want text", text, err)
	}
}

// SetTimesAt and SetTimes set the same times. A link has its own times.
func TestSetTimes_ofFilesAndLinks(t *testing.T) {
	_, a, _ := roots(t)
	f, err := a.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const hour = int64(3600e9)
	for i, set := range []func() error{
		func() error { return SetTimesAt(a, "x", [2]int64{hour, 2 * hour}) },
		func() error { return SetTimes(f, [2]int64{3 * hour, 4 * hour}) },
	} {
		if err := set(); err != nil {
			t.Fatal(err)
		}
		info, err := a.Stat("x")
		if want := int64(2*i+2) * hour; err != nil || Stat(info).Mtime != want {
			t.Errorf("%d, %v, want %d", Stat(info).Mtime, err, want)
		}
	}
}
