package temp_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/temp"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// everything allows all.
type everything struct{}

func (everything) Allow(jail.Op, string) error { return nil }

// world returns a tree over a folder of the host, which is /w.
func world(t *testing.T) (*temp.Tree, string) {
	t.Helper()
	dir := t.TempDir()
	files := jail.New([]jail.Mount{{Host: dir, Guest: "/w"}}, everything{})
	t.Cleanup(files.Close)
	return temp.New(files, nil), dir
}

func write(t *testing.T, tree wasi.Tree, path, text string) wasi.Errno {
	t.Helper()
	f, e := tree.Open(path, wasi.OpenOptions{Read: true, Write: true, Create: true})
	if e != wasi.ESUCCESS {
		return e
	}
	_, e = f.WriteAt([]byte(text), 0)
	_ = f.Close()
	return e
}

func read(tree wasi.Tree, path string) string {
	f, e := tree.Open(path, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return e.Error()
	}
	defer f.Close()
	buf := make([]byte, 100)
	n, _ := f.ReadAt(buf, 0)
	return string(buf[:n])
}

func TestTree_isApartFromTheFilesOfTheHost(t *testing.T) {
	tree, dir := world(t)
	if e := write(t, tree, "/temp/a", "inside"); e != 0 {
		t.Fatal(e)
	}
	if e := write(t, tree, "/w/b", "outside"); e != 0 {
		t.Fatal(e)
	}
	if err := os.Symlink("/temp/a", filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]wasi.Errno{
		"rename out":      tree.Rename("/temp/a", "/w/a"),
		"rename in":       tree.Rename("/w/b", "/temp/b"),
		"link out":        tree.Link("/temp/a", "/w/a", false),
		"link in":         tree.Link("/w/b", "/temp/b", false),
		"link in follows": tree.Link("/w/b", "/temp/b", true),
	} {
		if got != wasi.EXDEV {
			t.Errorf("%s: got %v, want %v", name, got, wasi.EXDEV)
		}
	}
	if e := tree.Symlink("/w/b", "/temp/out"); e != wasi.EPERM {
		t.Errorf("a symbolic link in the folder: got %v, want %v", e, wasi.EPERM)
	}
	for path, want := range map[string]string{
		"/temp/a": "inside", "temp//./a": "inside", "/../temp/a": "inside", "/temp/x/../a": "inside",
		"/w/b": "outside", "/temp/b": wasi.ENOENT.Error(), "/w/temp/a": wasi.ENOENT.Error(),
		"/temp/../w/b": wasi.ENOENT.Error(), "/w/in": wasi.ENOENT.Error(), "/temp/a/": wasi.ENOTDIR.Error(), "/temp/a/b": wasi.ENOTDIR.Error(),
	} {
		if got := read(tree, path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 2 {
		t.Errorf("got %v, %v on the host, want only b and in", names, err)
	}
	if other, _ := world(t); read(other, "/temp/a") != wasi.ENOENT.Error() {
		t.Error("another call: got the file, want an empty folder")
	}
}

func TestTree_changesAsAFileSystem(t *testing.T) {
	tree, _ := world(t)
	for _, step := range []struct {
		name string
		got  wasi.Errno
		want wasi.Errno
	}{
		{"mkdir", tree.Mkdir("/temp/d"), 0},
		{"mkdir again", tree.Mkdir("/temp/d/"), wasi.EEXIST},
		{"mkdir of the folder", tree.Mkdir("/temp"), wasi.EEXIST},
		{"mkdir without its parent", tree.Mkdir("/temp/x/y"), wasi.ENOENT},
		{"a long name", tree.Mkdir("/temp/" + strings.Repeat("x", 256)), wasi.ENAMETOOLONG},
		{"write", write(t, tree, "/temp/d/f", "text"), 0},
		{"write to a folder", write(t, tree, "/temp/d", "text"), wasi.EISDIR},
		{"create with a slash", write(t, tree, "/temp/g/", "text"), wasi.EISDIR},
		{"rmdir of a full folder", tree.Rmdir("/temp/d"), wasi.ENOTEMPTY},
		{"rmdir of a file", tree.Rmdir("/temp/d/f"), wasi.ENOTDIR},
		{"rmdir of the folder", tree.Rmdir("/temp"), wasi.EBUSY},
		{"unlink of a folder", tree.Unlink("/temp/d"), wasi.EISDIR},
		{"rename into itself", tree.Rename("/temp/d", "/temp/d/e"), wasi.EINVAL},
		{"rename of the folder", tree.Rename("/temp", "/temp/e"), wasi.EBUSY},
		{"rename", tree.Rename("/temp/d", "/temp/e"), 0},
		{"rename of a missing file", tree.Rename("/temp/d/f", "/temp/f"), wasi.ENOENT},
		{"rename a file over a folder", tree.Rename("/temp/e/f", "/temp/e"), wasi.EISDIR},
		{"mkdir of a second", tree.Mkdir("/temp/d"), 0},
		{"rename over a full folder", tree.Rename("/temp/d", "/temp/e"), wasi.ENOTEMPTY},
		{"rename over an empty folder", tree.Rename("/temp/e", "/temp/d"), 0},
		{"rename to itself", tree.Rename("/temp/d/f", "/temp/d/f"), 0},
		{"a link", tree.Link("/temp/d/f", "/temp/l", false), wasi.EPERM},
	} {
		if step.got != step.want {
			t.Errorf("%s: got %v, want %v", step.name, step.got, step.want)
		}
	}
	if got := read(tree, "/temp/d/f"); got != "text" {
		t.Errorf("after the renames: got %q, want text", got)
	}
	d, e := tree.Open("/temp", wasi.OpenOptions{Read: true, Directory: true})
	if e != 0 {
		t.Fatal(e)
	}
	if list, _ := d.ReadDir(10); len(list) != 1 || list[0].Name != "d" || list[0].Type != wasi.TypeDirectory {
		t.Errorf("got entries %v, want d", list)
	}
	if list, _ := d.ReadDir(10); len(list) != 0 {
		t.Errorf("at the end: got entries %v, want none", list)
	}
}

func TestTree_openFileOutlivesItsName(t *testing.T) {
	tree, _ := world(t)
	f, e := tree.Open("/temp/a", wasi.OpenOptions{Read: true, Write: true, Create: true, Exclusive: true})
	if e != 0 {
		t.Fatal(e)
	}
	if _, e := tree.Open("/temp/a", wasi.OpenOptions{Write: true, Create: true, Exclusive: true}); e != wasi.EEXIST {
		t.Errorf("exclusive: got %v, want %v", e, wasi.EEXIST)
	}
	if _, e = f.Append([]byte("abc")); e == 0 {
		_, e = f.WriteAt([]byte("z"), 5)
	}
	if e == 0 {
		e = tree.Unlink("/temp/a")
	}
	buf := make([]byte, 10)
	n, _ := f.ReadAt(buf, 0)
	if st, _ := f.Stat(); e != 0 || !bytes.Equal(buf[:n], []byte("abc\x00\x00z")) || st.Size != 6 || st.Nlink != 0 {
		t.Errorf("got %v, %q, %+v, want its six bytes", e, buf[:n], st)
	}
	if e := f.Truncate(2); e != 0 {
		t.Error(e)
	}
	if n, _ := f.ReadAt(buf, 0); string(buf[:n]) != "ab" {
		t.Errorf("truncated: got %q, want ab", buf[:n])
	}
}

func TestTree_isBounded(t *testing.T) {
	const limit = 64 << 20
	tree, _ := world(t)
	f, e := tree.Open("/temp/a", wasi.OpenOptions{Write: true, Create: true})
	if e != 0 {
		t.Fatal(e)
	}
	for name, got := range map[string]wasi.Errno{
		"a far write":  func() wasi.Errno { _, e := f.WriteAt([]byte("x"), 1<<62); return e }(),
		"a large file": f.Truncate(limit + 1),
	} {
		if got != wasi.ENOSPC {
			t.Errorf("%s: got %v, want %v", name, got, wasi.ENOSPC)
		}
	}
	for range 3 { // removed bytes are free again
		if e := f.Truncate(limit - 1<<20); e != 0 {
			t.Fatalf("below the limit: got %v, want success", e)
		}
		if e := write(t, tree, "/temp/b", strings.Repeat("x", 2<<20)); e != wasi.ENOSPC {
			t.Errorf("over the limit: got %v, want %v", e, wasi.ENOSPC)
		}
		_ = tree.Unlink("/temp/b")
		if e := f.Truncate(0); e != 0 {
			t.Fatal(e)
		}
	}
	for i := range limit {
		if e = tree.Mkdir("/temp/" + strconv.Itoa(i)); e != 0 {
			break
		}
	}
	if e != wasi.ENOSPC {
		t.Errorf("folders without end: got %v, want %v", e, wasi.ENOSPC)
	}
}
