package jail_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func TestLinks_ofTheOperator(t *testing.T) {
	w := newWorld(t, []string{
		"work/a", "work/d/b", "lib/c", "lib/deep/d", "secret/key",
		"work/rel -> a", "work/up -> d/../a", "work/dir -> d", "work/slash -> d/", "work/abs -> %s/lib", "work/over -> ../lib/c",
		"work/chain -> dir/../rel", "work/loop -> loop2", "work/loop2 -> loop", "work/dangling -> none",
		"work/out -> %s/secret", "work/out2 -> ../secret/key", "work/etc -> /etc/passwd", "work/self -> .",
		"lib/back -> ../work/d",
	}, []string{"write %s/work", "read %s/lib"}, jail.Mount{Host: "%s/work"}, jail.Mount{Host: "%s/lib"})
	w.wantRead("work/rel", "work/a", 0)
	w.wantRead("work/up", "work/a", 0)
	w.wantRead("work/dir/b", "work/d/b", 0)
	w.wantRead("work/slash/b", "work/d/b", 0)
	w.wantRead("work/abs/c", "lib/c", 0)
	w.wantRead("work/abs/deep/../c", "lib/c", 0)
	w.wantRead("work/abs/back/b", "work/d/b", 0)
	w.wantRead("work/over", "lib/c", 0)
	w.wantRead("work/chain", "work/a", 0)
	w.wantRead("work/self/self/self/a", "work/a", 0)
	w.wantRead("work/loop", "", wasi.ELOOP)
	w.wantRead("work/"+strings.Repeat("self/", 41)+"a", "", wasi.ELOOP)
	w.wantRead("work/dangling", "", wasi.ENOENT)
	w.wantRead("work/out/key", "", wasi.ENOENT)
	w.wantRead("work/out2", "", wasi.ENOENT)
	w.wantRead("work/etc", "", wasi.ENOENT)
	w.wantRead("work/rel/", "", wasi.ENOTDIR)
	w.want(w.write("work/over", "x"), wasi.EACCES, "write through a link to what is read-only")
	w.want(w.write("work/out2", "x"), wasi.ENOENT, "write through a link to what is not granted")
	w.want(w.Mkdir(w.guest+"/work/out/new"), wasi.ENOENT, "mkdir through a link")
	w.want(w.Unlink(w.guest+"/work/out/key"), wasi.ENOENT, "unlink through a link")
	w.want(w.Unlink(w.guest+"/work/abs/c"), wasi.EACCES, "unlink through a link to what is read-only")
	w.want(w.Rename(w.guest+"/work/out2", w.guest+"/work/mine"), wasi.EPERM, "move a link that leads outside")
	w.want(w.Rename(w.guest+"/work/rel", w.guest+"/work/d/rel"), 0, "move a link that stays inside")
	w.want(w.Unlink(w.guest+"/work/out"), 0, "remove a link that leads outside")
	if _, err := os.Stat(filepath.Join(w.dir, "secret/key")); err != nil {
		t.Error(err)
	}
	if got, e := w.Readlink(w.guest + "/work/abs"); e != 0 || got != w.guest+"/lib" {
		t.Errorf("readlink: got %q, %v, want %s/lib", got, e, w.guest)
	}
	st, e := w.Stat(w.guest+"/work/abs", false)
	if e != 0 || st.Type != wasi.TypeSymlink {
		t.Errorf("stat of a link: got %+v, %v, want type %v", st, e, wasi.TypeSymlink)
	}
}

// A dangling link cannot be used to create its target.
func TestDanglingLink_createsNothingOutside(t *testing.T) {
	w := newWorld(t, []string{"work/out -> %s/secret/new", "work/in -> sub/new", "work/sub/x", "secret/key"},
		[]string{"write %s/work"}, jail.Mount{Host: "%s/work"})
	w.want(w.write("work/out", "x"), wasi.ENOENT, "write to a link to nothing outside")
	if _, err := os.Lstat(filepath.Join(w.dir, "secret/new")); err == nil {
		t.Errorf("write through a link out of the jail: got a file on the host, want none")
	}
	w.want(w.write("work/in", "x"), 0, "write to a link to nothing inside")
	if _, err := os.Stat(filepath.Join(w.dir, "work/sub/new")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"in", "out"} {
		if _, e := w.Open(w.guest+"/work/"+name, wasi.OpenOptions{Write: true, Create: true, Exclusive: true}); e != wasi.EEXIST {
			t.Errorf("exclusive create of %s: got %v, want %v", name, e, wasi.EEXIST)
		}
		if _, e := w.Open(w.guest+"/work/"+name, wasi.OpenOptions{Read: true, NoFollow: true}); e != wasi.ELOOP {
			t.Errorf("open of %s without following: got %v, want %v", name, e, wasi.ELOOP)
		}
	}
	w.want(w.Mkdir(w.guest+"/work/out"), wasi.EEXIST, "mkdir on a link")
}

func TestSymlink_byTheGuest(t *testing.T) {
	w := newWorld(t, []string{"work/a", "work/d/e/f", "work/secret/key"},
		[]string{"write %s/work", "deny %s/work/secret"}, jail.Mount{Host: "%s/work"})
	at := w.guest + "/work/d/e/l"
	for _, target := range []string{
		"/etc/passwd", "/", w.guest + "/work/a", "../../..", "../../../x", "../../../../../../etc", "f/../../../../x",
		"x/../f", "../../secret/key", "../../secret", "a\x00b", strings.Repeat("n", 300), `c:\x`[:0] + "/x",
	} {
		w.want(w.Symlink(target, at), wasi.EPERM, "to ", target)
	}
	for _, target := range []string{"f", "../../a", "../..", ".", "none/yet", "../../d/./e"} {
		w.want(w.Symlink(target, at), 0, "to ", target)
		w.want(w.Unlink(at), 0, "unlink")
	}
	// A link, or a folder that contains one, does not move to a path from which it would lead outside.
	w.want(w.Symlink("../../a", at), 0, "deep link")
	w.wantRead("work/d/e/l", "work/a", 0)
	w.want(w.Rename(at, w.guest+"/work/l"), wasi.EPERM, "move the link up")
	w.want(w.Link(at, w.guest+"/work/l", false), wasi.EPERM, "name the link above")
	w.want(w.Rename(w.guest+"/work/d/e", w.guest+"/work/e"), wasi.EPERM, "move its folder up")
	w.want(w.Rename(w.guest+"/work/d", w.guest+"/work/g"), 0, "move its folder sideways")
	w.wantRead("work/g/e/l", "work/a", 0)
}

func TestMove_keepsDenialsWhereTheyAre(t *testing.T) {
	w := newWorld(t, []string{"work/p/secret/key", "work/p/a", "work/q/b", "ro/c", "ro/d/e"},
		[]string{"write %s/work", "read %s/ro", "deny %s/work/p/secret", "deny %s/work/x/b"},
		jail.Mount{Host: "%s/work"}, jail.Mount{Host: "%s/ro"})
	g := w.guest
	w.want(w.Rename(g+"/work/p", g+"/work/open"), wasi.EACCES, "move a folder that holds what is denied")
	w.want(w.Rename(g+"/work/q", g+"/work/x"), wasi.EACCES, "move a folder to where its content is denied")
	w.want(w.Rename(g+"/ro/c", g+"/work/c"), wasi.EACCES, "move out of what is read-only")
	w.want(w.Rename(g+"/work/q/b", g+"/ro/b"), wasi.EACCES, "move into what is read-only")
	w.want(w.Rename(g+"/work/q/b", g+"/ro/c"), wasi.EACCES, "replace what is read-only")
	w.want(w.Link(g+"/ro/c", g+"/work/c", true), wasi.EACCES, "a writable name for what is read-only")
	w.want(w.Link(g+"/work/q/b", g+"/ro/b", true), wasi.EACCES, "a name in what is read-only")
	w.want(w.Link(g+"/work/p", g+"/work/pp", true), wasi.EPERM, "a second name for a folder")
	w.want(w.Rename(g+"/work/p/a", g+"/work/q/b"), 0, "replace a file")
	w.want(w.Rename(g+"/work/p/..", g+"/work/q"), wasi.EINVAL, "move ..")
	w.want(w.Rename(g+"/work/q", g+"/work/p/."), wasi.EINVAL, "move to .")
	w.want(w.Rename(g+"/work/q", g+"/work/q/r"), wasi.EINVAL, "move into itself")
	w.want(w.Rename(g+"/work/q", g+"/work/q"), 0, "move to itself")
	w.want(w.Rename(g+"/work/q/b", g+"/work/p"), wasi.EISDIR, "replace a folder by a file")
	w.want(w.Rename(g+"/work/q", g+"/work/q2/"), 0, "move a folder")
	w.want(w.Rename(g+"/work/q2/b", g+"/work/b/"), wasi.ENOTDIR, "move a file to a folder's name")
	w.want(w.Rmdir(g+"/work/q2/."), wasi.EINVAL, "rmdir .")
	w.wantRead("work/q2/b", "work/p/a", 0)
}

func TestTree_rejectsInvalidNames(t *testing.T) {
	w := newWorld(t, []string{"work/File"}, []string{"write %s/work"}, jail.Mount{Host: "%s/work"})
	for path, want := range map[string]wasi.Errno{
		"work/" + strings.Repeat("n", 256):        wasi.ENAMETOOLONG,
		"work/" + strings.Repeat("n", 255) + "/x": wasi.ENOENT,
		"work/a\x00b": wasi.EINVAL,
		"work/..":     wasi.EISDIR,
		"work/new/":   wasi.EISDIR,
		strings.Repeat("work/../", 1000) + "../../../etc": wasi.EROFS,
	} {
		got := w.write(path, "x")
		if want == wasi.EISDIR && got == wasi.EROFS {
			got = want
		}
		w.want(got, want, "write ", path[:min(20, len(path))])
	}
	deep := "work"
	for range 250 {
		deep += "/d"
		w.Mkdir(w.guest + "/" + deep)
	}
	if _, e := w.read(deep + "/f"); e != wasi.ENAMETOOLONG && e != wasi.ENOENT {
		t.Errorf("very deep: got %v, want %v or %v", e, wasi.ENAMETOOLONG, wasi.ENOENT)
	}
}

// Where the file system accepts a different spelling of a name, decisions are made on the listed one.
func TestTree_decidesOnListedSpelling(t *testing.T) {
	w := newWorld(t, []string{"work/Secret/key", "work/Open/a"}, []string{"write %s/work", "deny %s/work/Secret"}, jail.Mount{Host: "%s/work"})
	_, err := os.Stat(filepath.Join(w.dir, "WORK"))
	folds := err == nil
	w.wantRead("work/secret/key", "", wasi.ENOENT)
	w.wantRead("work/SECRET/key", "", wasi.ENOENT)
	want := wasi.ENOENT
	if folds {
		want = 0
	}
	w.wantRead("work/open/A", "work/Open/a", want)
}

func TestHardLink_isSeenAsItsOwnName(t *testing.T) {
	w := newWorld(t, []string{"work/A", "work/x/b"}, []string{"write %s/work"}, jail.Mount{Host: "%s/work"})
	if err := os.Link(filepath.Join(w.dir, "work/A"), filepath.Join(w.dir, "work/a")); err != nil {
		t.Skip(err)
	}
	w.wantRead("work/A", "work/A", 0)
	w.wantRead("work/a", "work/A", 0)
	w.wantList(w.guest+"/work", "A", "a", "x/")
	st, _ := w.Stat(w.guest+"/work/a", true)
	if runtime.GOOS != "windows" && st.Nlink != 2 {
		t.Errorf("got %+v, want 2 links", st)
	}
}

// Two goroutines swap a folder and a file for links to denied paths while the guest reads and writes. It must never
// reach those paths.
func TestTree_neverFollowsSwappedLinks(t *testing.T) {
	w := newWorld(t, []string{"work/d/key", "work/f", "work/secret/key", "secret/key"},
		[]string{"write %s/work", "deny %s/work/secret"}, jail.Mount{Host: "%s/work"})
	dir := filepath.Join(w.dir, "work")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	swap := func(name, target string) {
		path, aside := filepath.Join(dir, name), filepath.Join(dir, name+"-aside")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(path, aside)
			_ = os.Symlink(target, path)
			_ = os.Remove(path)
			_ = os.Rename(aside, path)
		}
	}
	for name, target := range map[string]string{"d": "secret", "f": filepath.Join("secret", "key")} {
		wg.Go(func() { swap(name, target) })
	}
	defer wg.Wait()
	defer close(stop)
	reached := 0
	for end, most := time.Now().Add(time.Second), time.Now().Add(time.Minute); time.Now().Before(end) || reached == 0 && time.Now().Before(most); {
		for path, own := range map[string]string{"d/key": "content of work/d/key", "f": "content of work/f"} {
			got, e := w.read("work/" + path)
			switch {
			case e == 0 && got != own:
				t.Fatalf("read %s: got %q, want %q", path, got, own)
			case e == 0:
				reached++
			case e != wasi.ENOENT && e != wasi.EBUSY && e != wasi.ENOTDIR:
				t.Fatalf("read %s: got %v, want %v, %v or %v", path, e, wasi.ENOENT, wasi.EBUSY, wasi.ENOTDIR)
			}
			if e := w.write("work/d/new", "x"); e == 0 {
				_ = w.Unlink(w.guest + "/work/d/new")
			}
			times := wasi.Times{Mtime: new(int64)}
			_ = w.Chtimes(w.guest+"/work/d/key", times, true)
			_ = w.Rename(w.guest+"/work/d/key", w.guest+"/work/d/key2")
			_ = w.Rename(w.guest+"/work/d/key2", w.guest+"/work/d/key")
		}
	}
	for _, d := range []string{filepath.Join(dir, "secret"), filepath.Join(w.dir, "secret")} {
		entries, err := os.ReadDir(d)
		info, err2 := os.Stat(filepath.Join(d, "key"))
		if err != nil || err2 != nil || len(entries) != 1 || info.ModTime().Unix() == 0 {
			t.Errorf("%s: got entries %v, %v, %v, want only its key unchanged", d, entries, err, err2)
		}
	}
	if reached == 0 {
		t.Errorf("got no read that succeeded, want at least one")
	}
}

func TestTree_statsFilesAndFolders(t *testing.T) {
	w := newWorld(t, []string{"a", "d/b"}, []string{"write %s"})
	info, err := os.Stat(filepath.Join(w.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	st, e := w.Stat(w.guest+"/a", true)
	if e != 0 || st.Size != info.Size() || st.Mtime != info.ModTime().UnixNano() || st.Type != wasi.TypeRegular {
		t.Errorf("got %+v, %v, want that of the host's file %+v", st, e, info)
	}
	d, e := w.Open(w.guest+"/d", wasi.OpenOptions{Read: true})
	if e != 0 {
		t.Fatalf("open of a folder: got %v, want success", e)
	}
	defer d.Close()
	w.want(w.Rename(w.guest+"/d", w.guest+"/e"), 0, "rename")
	if d.Path() != w.guest+"/e" {
		t.Errorf("open folder after its rename: got path %s, want %s/e", d.Path(), w.guest)
	}
	at := int64(1_000_000_000)
	w.want(d.Chtimes(wasi.Times{Mtime: &at}), 0, "times")
	if st, e := d.Stat(); e != 0 || st.Mtime != at || st.Type != wasi.TypeDirectory {
		t.Errorf("stat of the open folder: got %+v, %v, want modified at %d", st, e, at)
	}
	w.want(d.Sync(), 0, "sync")
	for what, e := range map[string]wasi.Errno{
		"read": second(d.ReadAt(nil, 0)), "write": second(d.WriteAt(nil, 0)), "append": second(d.Append(nil)), "truncate": d.Truncate(0),
	} {
		w.want(e, wasi.EISDIR, what)
	}
}

func second(_ int, e wasi.Errno) wasi.Errno { return e }
