package jail_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// rules is a Decider of prefixes: each line is "read /path" or "write /path". Write includes read, and "deny /path"
// takes precedence.
type rules struct {
	lines   []string
	refused []string
}

func (r *rules) covers(verb, host string) bool {
	for _, l := range r.lines {
		v, base, _ := strings.Cut(l, " ")
		if v == verb && within(host, base) {
			return true
		}
	}
	return false
}

func within(host, base string) bool {
	return host == base || strings.HasPrefix(host, strings.TrimSuffix(base, string(filepath.Separator))+string(filepath.Separator))
}

func (r *rules) allowed(op jail.Op, host string) bool {
	if r.covers("deny", host) {
		return false
	}
	return r.covers("write", host) || op == jail.Read && r.covers("read", host)
}

func (r *rules) Allow(op jail.Op, host string) error {
	if r.allowed(op, host) {
		return nil
	}
	r.refused = append(r.refused, fmt.Sprint(op, " ", host))
	return errors.New("refused")
}

// viewer adds folders that lead to a granted path.
type viewer struct{ *rules }

func (v viewer) Writable(host string) bool { return v.allowed(jail.Write, host) }

func (v viewer) Visible(host string, folder bool) bool {
	if v.allowed(jail.Read, host) {
		return true
	}
	for _, l := range v.lines {
		verb, base, _ := strings.Cut(l, " ")
		if folder && verb != "deny" && within(base, host) && !v.covers("deny", host) {
			return true
		}
	}
	return false
}

// world is a folder of the host, a tree over parts of it, and the recorded denials.
type world struct {
	*jail.Tree
	t     *testing.T
	dir   string // host path without links
	guest string // the guest path of dir
	rules *rules
}

// newWorld creates files ("name", "folder/", "link -> target") and a tree. %s in lines and mounts is the folder of the
// world.
func newWorld(t *testing.T, files, lines []string, mounts ...jail.Mount) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, guest: jail.GuestPath(dir), rules: &rules{}}
	for _, f := range files {
		w.make(f)
	}
	for _, l := range lines {
		w.rules.lines = append(w.rules.lines, filepath.FromSlash(strings.ReplaceAll(l, "%s", dir)))
	}
	for i := range mounts {
		mounts[i].Host = filepath.FromSlash(strings.ReplaceAll(mounts[i].Host, "%s", dir))
	}
	if mounts == nil {
		mounts = []jail.Mount{{Host: dir}}
	}
	w.Tree = jail.New(mounts, viewer{w.rules})
	t.Cleanup(w.Close)
	return w
}

func (w *world) make(f string) {
	w.t.Helper()
	name, target, isLink := strings.Cut(strings.ReplaceAll(f, "%s", w.dir), " -> ")
	full := filepath.Join(w.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(full), 0o700)
	switch {
	case isLink:
		err = errors.Join(err, os.Symlink(filepath.FromSlash(target), full))
	case strings.HasSuffix(name, "/"):
		err = errors.Join(err, os.MkdirAll(full, 0o700))
	default:
		err = errors.Join(err, os.WriteFile(full, []byte("content of "+name), 0o600))
	}
	if err != nil {
		if isLink && runtime.GOOS == "windows" {
			w.t.Skip(err)
		}
		w.t.Fatal(err)
	}
}

func (w *world) read(path string) (string, wasi.Errno) {
	f, e := w.Open(w.guest+"/"+path, wasi.OpenOptions{Read: true})
	if e != wasi.ESUCCESS {
		return "", e
	}
	defer f.Close()
	b := make([]byte, 200)
	n, e := f.ReadAt(b, 0)
	return string(b[:n]), e
}

func (w *world) write(path, text string) wasi.Errno {
	f, e := w.Open(w.guest+"/"+path, wasi.OpenOptions{Write: true, Create: true, Truncate: true})
	if e != wasi.ESUCCESS {
		return e
	}
	defer f.Close()
	_, e = f.WriteAt([]byte(text), 0)
	return e
}

// wantRead checks that reading a path returns the file created under the name made, or an error.
func (w *world) wantRead(path, made string, want wasi.Errno) {
	w.t.Helper()
	got, e := w.read(path)
	if e != want || e == wasi.ESUCCESS && got != "content of "+made {
		w.t.Errorf("read %s: %q, %v; want %q, %v", path, got, e, made, want)
	}
}

func (w *world) want(e, want wasi.Errno, what ...any) {
	w.t.Helper()
	if e != want {
		w.t.Errorf("%s: %v, want %v", fmt.Sprint(what...), e, want)
	}
}

func (w *world) list(guest string) []string {
	w.t.Helper()
	d, e := w.Open(guest, wasi.OpenOptions{Read: true, Directory: true})
	if e != wasi.ESUCCESS {
		w.t.Errorf("open %s: got %v, want success", guest, e)
		return nil
	}
	defer d.Close()
	names := []string{}
	for {
		entries, e := d.ReadDir(3)
		if e != wasi.ESUCCESS {
			w.t.Errorf("read of %s: got %v, want success", guest, e)
		}
		if len(entries) == 0 {
			slices.Sort(names)
			return names
		}
		for _, entry := range entries {
			if entry.Type == wasi.TypeDirectory {
				entry.Name += "/"
			}
			names = append(names, entry.Name)
		}
	}
}

func (w *world) wantList(guest string, want ...string) {
	w.t.Helper()
	if got := w.list(guest); !slices.Equal(got, want) {
		w.t.Errorf("%s holds %q, want %q", guest, got, want)
	}
}

func TestTree_showsOnlyGrantedFiles(t *testing.T) {
	w := newWorld(t, []string{"work/a", "work/sub/b", "work/ro/c", "other/d", "e"},
		[]string{"write %s/work", "read %s/other/d"}, jail.Mount{Host: "%s/work"}, jail.Mount{Host: "%s/other/d"})
	w.wantRead("work/a", "work/a", 0)
	w.wantRead("work/./sub/../a", "work/a", 0)
	w.wantRead("work/sub/b", "work/sub/b", 0)
	w.wantRead("other/d", "other/d", 0)
	w.wantRead("e", "", wasi.ENOENT)
	w.wantRead("work/none", "", wasi.ENOENT)
	w.wantRead("work/a/x", "", wasi.ENOTDIR)
	w.wantRead("other/d/x", "", wasi.ENOTDIR)
	w.want(w.write("work/new", "text"), 0, "write")
	w.want(w.write("other/d", "text"), wasi.EACCES, "write to what is granted to be read")
	w.want(w.write("e", "text"), wasi.EROFS, "write outside")
	w.want(w.write("other/new", "text"), wasi.EROFS, "write beside")
	w.wantList(w.guest, "other/", "work/")
	w.wantList(w.guest+"/other", "d")
	w.wantList(w.guest+"/work", "a", "new", "ro/", "sub/")
	if got, _ := os.ReadFile(filepath.Join(w.dir, "work/new")); string(got) != "text" {
		t.Errorf("work/new: got %q, want text", got)
	}
}

func TestTree_listsWayToMounts(t *testing.T) {
	w := newWorld(t, []string{"in/work/a", "in/b", "c"}, []string{"write %s/in/work"}, jail.Mount{Host: "%s/in/work"})
	for at := w.guest; ; at = filepath.ToSlash(filepath.Dir(at)) {
		st, e := w.Stat(at, true)
		if e != 0 || st.Type != wasi.TypeDirectory || st.Ino == 0 {
			t.Errorf("stat %s: got %+v, %v, want a folder with an inode", at, st, e)
		}
		if n := len(w.list(at)); n != 1 {
			t.Errorf("%s: got %d entries, want 1", at, n)
		}
		if at == "/" {
			break
		}
	}
	w.wantList(w.guest+"/in", "work/")
	in := w.guest + "/in"
	w.want(w.Mkdir(in+"/x"), wasi.EROFS, "mkdir")
	w.want(w.Mkdir(in), wasi.EEXIST, "mkdir itself")
	w.want(w.Rmdir(in), wasi.EROFS, "rmdir")
	w.want(w.Unlink(in+"/b"), wasi.ENOENT, "unlink what is not granted")
	w.want(w.Rename(in, w.guest+"/out"), wasi.EROFS, "rename")
	w.want(w.Rename(in+"/work/a", in+"/a"), wasi.EROFS, "rename into")
	w.want(w.Symlink("work", in+"/l"), wasi.EROFS, "symlink")
	w.want(w.Chtimes(in, wasi.Times{}, true), wasi.EROFS, "times")
	w.want(w.Rmdir(in+"/work"), wasi.EBUSY, "rmdir of a mount")
	w.want(w.Rename(in+"/work", in+"/work/b"), wasi.EBUSY, "rename of a mount")
	if _, e := w.Readlink(in); e != wasi.EINVAL {
		t.Errorf("readlink of a folder: got %v, want %v", e, wasi.EINVAL)
	}
	w.wantRead("in/../in/work/a", "in/work/a", 0)
}

func TestTree_readGrantAllowsNoWrite(t *testing.T) {
	w := newWorld(t, []string{"a", "d/b", "l -> a"}, []string{"read %s"})
	for what, e := range map[string]wasi.Errno{
		"write":   w.write("a", "x"),
		"create":  w.write("n", "x"),
		"mkdir":   w.Mkdir(w.guest + "/n"),
		"unlink":  w.Unlink(w.guest + "/a"),
		"rmdir":   w.Rmdir(w.guest + "/d"),
		"rename":  w.Rename(w.guest+"/a", w.guest+"/b"),
		"link":    w.Link(w.guest+"/a", w.guest+"/b", false),
		"symlink": w.Symlink("a", w.guest+"/b"),
		"chtimes": w.Chtimes(w.guest+"/a", wasi.Times{}, true),
		"truncate": func() wasi.Errno {
			_, e := w.Open(w.guest+"/a", wasi.OpenOptions{Read: true, Truncate: true})
			return e
		}(),
	} {
		w.want(e, wasi.EACCES, what)
	}
	w.wantRead("l", "a", 0)
	if !slices.Contains(w.rules.refused, "write "+filepath.Join(w.dir, "a")) {
		t.Errorf("got refusals %q, want write %s/a", w.rules.refused, w.dir)
	}
}

func TestDenied_doesNotExist(t *testing.T) {
	w := newWorld(t, []string{"a", "secret/key", "secret/sub/key", "pub/secret"},
		[]string{"write %s", "deny %s/secret", "deny %s/pub/secret"})
	w.wantList(w.guest, "a", "pub/")
	w.wantList(w.guest + "/pub")
	for _, path := range []string{"secret", "secret/", "secret/key", "secret/none", "secret/sub/key", "pub/secret", "pub/secret/x", "secret/../secret/key",
		"secret/../a", "secret/sub/../../a", "none/../a"} {
		w.wantRead(path, "", wasi.ENOENT)
		if _, e := w.Stat(w.guest+"/"+path, false); e != wasi.ENOENT {
			t.Errorf("stat %s: got %v, want %v", path, e, wasi.ENOENT)
		}
		w.want(w.write(path, "x"), wasi.ENOENT, "write ", path)
		w.want(w.Unlink(w.guest+"/"+path), wasi.ENOENT, "unlink ", path)
		w.want(w.Mkdir(w.guest+"/"+path), wasi.ENOENT, "mkdir ", path)
		w.want(w.Rename(w.guest+"/"+path, w.guest+"/mine"), wasi.ENOENT, "rename ", path)
		if !strings.HasSuffix(path, "/") { // for a file this is ENOTDIR in any case
			w.want(w.Rename(w.guest+"/a", w.guest+"/"+path), wasi.ENOENT, "rename to ", path)
		}
		w.want(w.Link(w.guest+"/"+path, w.guest+"/mine", true), wasi.ENOENT, "link ", path)
	}
	w.rules.refused = nil
	w.wantList(w.guest, "a", "pub/")
	if len(w.rules.refused) != 0 {
		t.Errorf("after a listing: got refusals %q, want none", w.rules.refused)
	}
	w.wantRead("secret/sub/key", "", wasi.ENOENT)
	if want := []string{"read " + filepath.Join(w.dir, "secret", "sub", "key")}; !slices.Equal(w.rules.refused, want) {
		t.Errorf("recorded %q, want %q", w.rules.refused, want)
	}
}

func TestTree_passesFoldersThatLeadToGrants(t *testing.T) {
	w := newWorld(t, []string{"p/src/a", "p/doc/b", "q/c"}, []string{"read %s/p/src"})
	w.wantRead("p/src/a", "p/src/a", 0)
	w.wantRead("p/doc/b", "", wasi.ENOENT)
	w.wantList(w.guest, "p/")
	w.wantList(w.guest+"/p", "src/")
	plain := jail.New([]jail.Mount{{Host: w.dir}}, w.rules)
	defer plain.Close()
	if f, e := plain.Open(w.guest+"/p/src/a", wasi.OpenOptions{Read: true}); e != 0 {
		t.Errorf("without a viewer: got %v, want success", e)
	} else {
		f.Close()
	}
}

func TestTree_mountsUnderOtherNames(t *testing.T) {
	w := newWorld(t, []string{"data/a", "one", "work/b"}, []string{"write %s"},
		jail.Mount{Host: "%s/data", Guest: "/data"}, jail.Mount{Host: "%s/one", Guest: "/etc/config"},
		jail.Mount{Host: "%s/work"}, jail.Mount{Host: "%s/work/later", Guest: "/later"}, jail.Mount{Host: "relative", Guest: "/r"},
		jail.Mount{Host: "%s/none/at/all", Guest: "/none"})
	w.guest = ""
	w.wantRead("data/a", "data/a", 0)
	w.wantRead("etc/config", "one", 0)
	w.wantRead("none", "", wasi.ENOENT)
	w.want(w.write("none/x", "x"), wasi.ENOENT, "write below what is not there")
	w.want(w.write("etc/config", "x"), 0, "write")
	if st, e := w.Stat("/etc/config/", true); e != wasi.ENOTDIR {
		t.Errorf("stat of a file as a folder: got %+v, %v, want %v", st, e, wasi.ENOTDIR)
	}
	w.wantList("/etc", "config")
	for _, name := range w.list("/") {
		if name == "later" || name == "later/" || name == "none/" || name == "r/" {
			t.Errorf("list of /: got %s, want it hidden", name)
		}
	}
	w.want(w.Mkdir("/later"), 0, "mkdir of a mount that is missing")
	w.want(w.write("later/x", "x"), 0, "write in it")
	w.want(w.Unlink("/etc/config"), 0, "unlink of a file that is a mount")
	w.want(w.write("etc/config", "again"), 0, "make it again")
	w.want(w.Symlink("one", "/etc/l"), wasi.EROFS, "symlink beside it")
	if got, _ := os.ReadFile(filepath.Join(w.dir, "one")); string(got) != "again" {
		t.Errorf("file one: got %q, want again", got)
	}
}

// A link created at the path of another mount would be followed by the system.
func TestMountPoint_staysWhatItIs(t *testing.T) {
	w := newWorld(t, []string{"work/sub/a", "work/secret/key", "alias -> work"}, []string{"write %s", "deny %s/work/secret"},
		jail.Mount{Host: "%s/work", Guest: "/w"}, jail.Mount{Host: "%s/work/sub", Guest: "/sub"},
		jail.Mount{Host: "%s/alias/later", Guest: "/later"}, jail.Mount{Host: "%s/work/secret/key", Guest: "/key"})
	w.guest = ""
	w.want(w.Rename("/w/sub", "/w/x"), wasi.EBUSY, "rename a mount")
	w.want(w.Rmdir("/w/sub"), wasi.EBUSY, "remove a mount")
	w.want(w.Symlink("sub", "/w/later"), wasi.EBUSY, "link where a mount will be")
	w.want(w.Symlink("sub", "/w/l"), 0, "link elsewhere")
	w.want(w.Rename("/w/l", "/w/later"), wasi.EBUSY, "move a link there")
	w.want(w.Link("/w/l", "/w/later", false), wasi.EBUSY, "second name there")
	w.want(w.Mkdir("/w/later"), 0, "make a folder there")
	w.wantRead("sub/a", "work/sub/a", 0)
	w.wantRead("key", "", wasi.ENOENT)
}

func TestTree_mountOfRoot(t *testing.T) {
	w := newWorld(t, []string{"a"}, []string{"read %s"}, jail.Mount{Host: filepath.VolumeName(os.TempDir()) + string(filepath.Separator)})
	if runtime.GOOS == "windows" {
		t.Skip("drives have no common root")
	}
	w.wantRead("a", "a", 0)
	w.wantList("/", strings.Split(w.dir, "/")[1]+"/")
	w.wantRead("../../../../../../etc/passwd", "", wasi.ENOENT)
}

func TestGuestPath_mapsDrives(t *testing.T) {
	want := map[string]string{"/": "/", "/a/b/": "/a/b"}
	if runtime.GOOS == "windows" {
		want = map[string]string{`C:\a b\c`: "/c/a b/c", `d:\`: "/d"}
	}
	for host, guest := range want {
		if got := jail.GuestPath(host); got != guest {
			t.Errorf("%s: %s, want %s", host, got, guest)
		}
	}
}

func TestTree_closeKeepsOpenFiles(t *testing.T) {
	w := newWorld(t, []string{"a"}, []string{"write %s"})
	f, e := w.Open(w.guest+"/a", wasi.OpenOptions{Read: true, Write: true})
	if e != 0 {
		t.Fatalf("open: got %v, want success", e)
	}
	w.Tree.Close()
	w.Tree.Close()
	if _, e := f.WriteAt([]byte("x"), 0); e != 0 {
		t.Errorf("write after the tree's close: got %v, want success", e)
	}
	w.want(f.Close(), 0, "close")
}
