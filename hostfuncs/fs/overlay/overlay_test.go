package overlay_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/fstest"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// everything allows all paths but those that contain "secret".
type everything struct{ denied []string }

func (e *everything) Allow(op jail.Op, path string) error {
	if strings.Contains(path, "secret") || op == jail.Write && strings.Contains(path, "fixed") {
		e.denied = append(e.denied, fmt.Sprint(op, " ", filepath.Base(path)))
		return errors.New("denied")
	}
	return nil
}

func (e *everything) Writable(path string) bool { return !strings.Contains(path, "secret") }

func (e *everything) Visible(path string, _ bool) bool { return !strings.Contains(path, "secret") }

// world is a folder of the host and a call with an overlay over it.
type world struct {
	*overlay.Overlay
	t     *testing.T
	dir   string
	state string
	rules *everything
}

func newWorld(t *testing.T, o overlay.Options, files ...string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, state: t.TempDir(), rules: &everything{}}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(full, 0o755)
		} else if target, is := strings.CutPrefix(text, "->"); is {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.begin(o)
	return w
}

// begin begins a call.
func (w *world) begin(o overlay.Options) {
	lower := jail.New([]jail.Mount{{Host: w.dir, Guest: "/w"}}, w.rules)
	o.Scratch = filepath.Join(w.state, "scratch")
	w.Overlay = overlay.New(lower, o)
	w.t.Cleanup(func() { w.Close(); lower.Close() })
}

func (w *world) land() error {
	changes, release, err := w.Changes()
	if err != nil {
		return err
	}
	defer release()
	return commit.Land(w.t.Context(), filepath.Join(w.state, "landing"), changes)
}

func write(tr wasi.Tree, path, text string, o wasi.OpenOptions) wasi.Errno {
	o.Write = true
	f, e := tr.Open(path, o)
	if e != 0 {
		return e
	}
	defer f.Close()
	_, e = f.WriteAt([]byte(text), 0)
	return e
}

func read(tr wasi.Tree, path string) (string, wasi.Errno) {
	f, e := tr.Open(path, wasi.OpenOptions{Read: true})
	if e != 0 {
		return "", e
	}
	defer f.Close()
	buf := make([]byte, 4096)
	n, e := f.ReadAt(buf, 0)
	return string(buf[:n]), e
}

// view lists a folder as a call sees it, in the form of fstest.List.
func view(t *testing.T, tr wasi.Tree, dir string) (list []string) {
	t.Helper()
	var visit func(at, name string)
	visit = func(at, name string) {
		f, e := tr.Open(at, wasi.OpenOptions{Read: true, Directory: true})
		if e != 0 {
			t.Fatalf("open %s: got %v, want success", at, e)
		}
		defer f.Close()
		for {
			entries, e := f.ReadDir(2)
			if e != 0 || len(entries) == 0 {
				return
			}
			for _, entry := range entries {
				path, rel := at+"/"+entry.Name, name+entry.Name
				switch entry.Type {
				case wasi.TypeDirectory:
					list = append(list, rel+"/")
					visit(path, rel+"/")
				case wasi.TypeSymlink:
					target, _ := tr.Readlink(path)
					list = append(list, rel+"->"+target)
				default:
					text, e := read(tr, path)
					if e != 0 {
						t.Fatalf("read %s: got %v, want success", path, e)
					}
					st, e := tr.Stat(path, false)
					if e != 0 || st.Size != int64(len(text)) || st.Type != wasi.TypeRegular {
						t.Fatalf("stat %s: got %+v, %v, want a file of %d bytes", path, st, e, len(text))
					}
					list = append(list, rel+"="+text)
				}
			}
		}
	}
	visit(dir, "")
	slices.Sort(list)
	return list
}

func (w *world) wantHost(want ...string) {
	w.t.Helper()
	if got := fstest.List(w.t, w.dir); !slices.Equal(got, want) {
		w.t.Errorf("the host has\n%q, want\n%q", got, want)
	}
}

func (w *world) want(got, want wasi.Errno, what string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

var create = wasi.OpenOptions{Create: true, Truncate: true}

func TestOverlay_nothingBeforeItLands(t *testing.T) {
	w := newWorld(t, overlay.Options{}, "a=A", "b=B", "d/x=X", "d/y=Y", "l=->a")
	before := fstest.List(t, w.dir)
	w.want(write(w, "/w/a", "new", create), 0, "replace")
	w.want(write(w, "/w/n", "N", create), 0, "create")
	w.want(w.Unlink("/w/b"), 0, "unlink")
	w.want(w.Mkdir("/w/e"), 0, "mkdir")
	w.want(w.Rename("/w/d/x", "/w/e/x"), 0, "rename")
	w.want(w.Symlink("../a", "/w/e/s"), 0, "symlink")
	w.want(w.Rename("/w/d", "/w/e/d"), 0, "rename a folder")
	if text, e := read(w, "/w/l"); text != "new" || e != 0 {
		t.Errorf("through the operator's link: got %q, %v, want new", text, e)
	}
	if text, e := read(w, "/w/e/s"); text != "new" || e != 0 {
		t.Errorf("through its own link: got %q, %v, want new", text, e)
	}
	want := []string{"a=new", "e/", "e/d/", "e/d/y=Y", "e/s->../a", "e/x=X", "l->a", "n=N"}
	if got := view(t, w, "/w"); !slices.Equal(got, want) {
		t.Errorf("the call sees\n%q, want\n%q", got, want)
	}
	w.wantHost(before...)
	if err := w.land(); err != nil {
		t.Fatal(err)
	}
	w.wantHost(want...)
}

func TestOverlay_closeDropsChanges(t *testing.T) {
	w := newWorld(t, overlay.Options{}, "a=A", "d/x=X")
	w.want(write(w, "/w/a", strings.Repeat("large", 1<<19), create), 0, "a large file")
	w.want(w.Unlink("/w/d/x"), 0, "unlink")
	w.Close()
	w.wantHost("a=A", "d/", "d/x=X")
	if left, _ := filepath.Glob(filepath.Join(w.state, "scratch", "*")); len(left) > 0 {
		t.Errorf("got files %v in scratch, want none", left)
	}
}

func TestOverlay_keepsUnwrittenParts(t *testing.T) {
	w := newWorld(t, overlay.Options{}, "a=0123456789")
	f, e := w.Open("/w/a", wasi.OpenOptions{Read: true, Write: true})
	w.want(e, 0, "open")
	other, e := w.Open("/w/a", wasi.OpenOptions{Read: true})
	w.want(e, 0, "open again")
	_, e = f.WriteAt([]byte("xx"), 3)
	w.want(e, 0, "write in the middle")
	_, e = f.Append([]byte("end"))
	w.want(e, 0, "append")
	buf := make([]byte, 20)
	if n, _ := other.ReadAt(buf, 0); string(buf[:n]) != "012xx56789end" {
		t.Errorf("the other descriptor: got %q, want 012xx56789end", buf[:n])
	}
	w.want(f.Truncate(5), 0, "cut")
	w.want(f.Truncate(7), 0, "extend")
	w.want(w.Rename("/w/a", "/w/b"), 0, "rename while open")
	_, e = f.WriteAt([]byte("!"), 6)
	w.want(e, 0, "write under the new name")
	w.want(f.Close(), 0, "close")
	w.want(other.Close(), 0, "close")
	if err := w.land(); err != nil {
		t.Fatal(err)
	}
	w.wantHost("b=012xx\x00!")
}

func TestOverlay_conflict(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   func(w *world)
		other  func(w *world) error
		lands  bool
		leaves []string
	}{
		{"read, then written", func(w *world) {
			read(w, "/w/a")
			write(w, "/w/a", "mine", create)
			write(w, "/w/n", "N", create)
		}, func(w *world) error { return os.WriteFile(w.dir+"/a", []byte("theirs"), 0o644) }, false, []string{"a=theirs", "b=B"}},
		{"blind", func(w *world) { write(w, "/w/a", "mine", create) },
			func(w *world) error { return os.WriteFile(w.dir+"/a", []byte("theirs"), 0o644) }, true, []string{"a=mine", "b=B"}},
		{"changed in part", func(w *world) { write(w, "/w/a", "m", wasi.OpenOptions{}) },
			func(w *world) error { return os.WriteFile(w.dir+"/a", []byte("theirs"), 0o644) }, false, []string{"a=theirs", "b=B"}},
		{"made exclusively", func(w *world) { write(w, "/w/n", "N", wasi.OpenOptions{Create: true, Exclusive: true}) },
			func(w *world) error { return os.WriteFile(w.dir+"/n", []byte("theirs"), 0o644) }, false, []string{"a=A", "b=B", "n=theirs"}},
		{"moved", func(w *world) { w.Rename("/w/a", "/w/c"); write(w, "/w/b", "new", create) },
			func(w *world) error { return os.WriteFile(w.dir+"/a", []byte("theirs"), 0o644) }, false, []string{"a=theirs", "b=B"}},
		{"only read", func(w *world) { read(w, "/w/a"); write(w, "/w/b", "new", create) },
			func(w *world) error { return os.WriteFile(w.dir+"/a", []byte("theirs"), 0o644) }, true, []string{"a=theirs", "b=new"}},
		{"its folder became a link", func(w *world) { write(w, "/w/sub/n", "N", create) },
			func(w *world) error {
				return errors.Join(os.Rename(w.dir+"/sub", w.dir+"/old"), os.Symlink(t.TempDir(), w.dir+"/sub"))
			}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := []string{"a=A", "b=B"}
			if c.leaves == nil {
				files = append(files, "sub/x=X")
			}
			w := newWorld(t, overlay.Options{}, files...)
			c.call(w)
			if err := c.other(w); err != nil {
				t.Fatal(err)
			}
			err := w.land()
			if c.lands != (err == nil) || err != nil && !errors.Is(err, commit.ErrConflict) {
				t.Errorf("landing: got %v, want success: %t", err, c.lands)
			}
			if c.leaves != nil {
				w.wantHost(c.leaves...)
			}
		})
	}
}

func TestOverlay_limits(t *testing.T) {
	var full []string
	w := newWorld(t, overlay.Options{Bytes: 100, Files: 3, Full: func(f overlay.Full) {
		full = append(full, fmt.Sprintf("%s %v %d+%d/%d", filepath.Base(f.Host), f.Files, f.Used, f.More, f.Limit))
	}}, "a="+strings.Repeat("x", 200))
	w.want(write(w, "/w/n", strings.Repeat("x", 101), create), wasi.ENOSPC, "too many bytes")
	w.want(write(w, "/w/a", "x", wasi.OpenOptions{}), wasi.ENOSPC, "a change in a file that is too large")
	for range 10 { // a removed file is no longer counted
		w.want(write(w, "/w/m", strings.Repeat("x", 100), create), 0, "as many bytes as may be")
		w.want(w.Unlink("/w/m"), 0, "unlink")
	}
	w.want(w.Mkdir("/w/d"), 0, "mkdir")
	w.want(w.Mkdir("/w/e"), wasi.ENOSPC, "too many files")
	f, e := w.Open("/w/n", wasi.OpenOptions{Write: true})
	w.want(e, 0, "open")
	w.want(f.Truncate(1<<62), wasi.ENOSPC, "a huge empty file")
	_, e = f.WriteAt([]byte("x"), 1<<62)
	w.want(e, wasi.ENOSPC, "a byte far away")
	if got, want := strings.Join(full[:3], ", "), "n false 0+101/100, a false 0+200/100, e true 3+1/3"; got != want || len(full) < 4 {
		t.Errorf("told of %s, want %s", got, want)
	}
}

func TestOverlay_hidesUngrantedFiles(t *testing.T) {
	w := newWorld(t, overlay.Options{}, "d/secret=S", "d/a=A", "fixed/x=X", "link=->d/secret")
	w.want(write(w, "/w/n", "N", create), 0, "a first change")
	for what, e := range map[string]wasi.Errno{
		"write what is hidden":      write(w, "/w/d/secret", "x", create),
		"through a link":            write(w, "/w/link", "x", create),
		"remove what is hidden":     w.Unlink("/w/d/secret"),
		"move onto what is hidden":  w.Rename("/w/d/a", "/w/d/secret"),
		"make below what is hidden": w.Mkdir("/w/secret/d"),
	} {
		w.want(e, wasi.ENOENT, what)
	}
	w.want(w.Rename("/w/d", "/w/e"), wasi.EACCES, "move a folder that holds what is hidden")
	w.want(w.Unlink("/w/d/a"), 0, "unlink")
	w.want(w.Rmdir("/w/d"), wasi.ENOTEMPTY, "remove a folder that holds what is hidden")
	w.want(write(w, "/w/fixed/x", "x", create), wasi.EACCES, "write what may be read")
	w.want(w.Rename("/w/fixed/x", "/w/x"), wasi.EACCES, "move what may be read")
	w.want(w.Symlink("d/secret", "/w/s"), wasi.EPERM, "a link to what is hidden")
	w.want(w.Symlink("/etc/passwd", "/w/s"), wasi.EPERM, "a link outside")
	w.want(write(w, "/w/"+commit.Prefix+"x", "x", create), wasi.EACCES, "a name of a temporary")
	if len(w.rules.denied) < 8 {
		t.Errorf("got denials %v, want 8 or more", w.rules.denied)
	}
}

func TestOverlay_direct(t *testing.T) {
	w := newWorld(t, overlay.Options{Direct: func(host string) bool { return strings.Contains(host, "db") }}, "db/a=A", "b=B")
	w.want(write(w, "/w/b", "later", create), 0, "held")
	w.want(write(w, "/w/db/a", "now", create), 0, "direct")
	w.want(write(w, "/w/db/n", "new", create), 0, "direct")
	w.want(w.Rename("/w/db/n", "/w/n"), wasi.EXDEV, "from one to the other")
	w.wantHost("b=B", "db/", "db/a=now", "db/n=new")
}

// A file counts as written if the call created, changed or replaced it, also in place and through a link.
func TestOverlay_knowsTheFilesThatTheCallWrote(t *testing.T) {
	w := newWorld(t, overlay.Options{Direct: func(host string) bool { return strings.Contains(host, "db") }}, "db/a=A", "db/b=B", "a=A", "b=B", "l=->a", "m=->b")
	for _, name := range []string{"a", "l", "db/a", "none"} {
		if w.Wrote("/w/" + name) {
			t.Errorf("%s before a write: got true, want false", name)
		}
	}
	w.want(write(w, "/w/a", "new", create), 0, "held")
	w.want(write(w, "/w/n", "new", create), 0, "created")
	w.want(w.Rename("/w/n", "/w/moved"), 0, "renamed")
	w.want(write(w, "/w/db/a", "new", create), 0, "in place")
	for name, want := range map[string]bool{"a": true, "l": true, "moved": true, "n": false, "db/a": true, "b": false, "m": false, "db/b": false, "none": false} {
		if got := w.Wrote("/w/" + name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func TestOverlay_keepsModeAndLinks(t *testing.T) {
	w := newWorld(t, overlay.Options{}, "a=A", "l=->a")
	if err := os.Chmod(w.dir+"/a", 0o751); err != nil {
		t.Fatal(err)
	}
	old := int64(1_000_000_000_000_000_000)
	w.want(write(w, "/w/l", "through", create), 0, "write through a link")
	w.want(w.Chtimes("/w/a", wasi.Times{Mtime: &old}, true), 0, "times")
	if err := w.land(); err != nil {
		t.Fatal(err)
	}
	w.wantHost("a=through", "l->a")
	info, err := os.Stat(w.dir + "/a")
	if err != nil || info.Mode().Perm() != 0o751 || info.ModTime().UnixNano() != old {
		t.Errorf("got mode %v, modified %v, %v, want mode 751, modified at %d", info.Mode(), info.ModTime(), err, old)
	}
}

// Any sequence of operations has the same effect and the same results on an overlay that lands as directly on the
// host's files.
func TestOverlay_isLikeTheFileSystem(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		files := []string{"a=A", "b=B", "d/a=DA", "d/e/a=DEA", "f/", "d/l=->a"}
		w := newWorld(t, overlay.Options{}, files...)
		direct := newWorld(t, overlay.Options{Direct: func(string) bool { return true }}, files...)
		before := fstest.List(t, w.dir)
		var log []string
		for range 25 {
			op := randomOp(r)
			log = append(log, op.name)
			if got, want := op.do(w), op.do(direct); got != want {
				t.Fatalf("seed %d: %s\nanswers %v, want %v", seed, strings.Join(log, "\n"), got, want)
			}
			if got, want := view(t, w, "/w"), fstest.List(t, direct.dir); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %s\nsees %q\nwant %q", seed, strings.Join(log, "\n"), got, want)
			}
		}
		if got := fstest.List(t, w.dir); !slices.Equal(got, before) {
			t.Fatalf("seed %d: before landing: got %q on the host, want %q", seed, got, before)
		}
		if err := w.land(); err != nil {
			t.Fatalf("seed %d: %s\nlanding: got %v, want success", seed, strings.Join(log, "\n"), err)
		}
		if got, want := fstest.List(t, w.dir), fstest.List(t, direct.dir); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s\nlanded %q\nwant   %q", seed, strings.Join(log, "\n"), got, want)
		}
	}
}

type op struct {
	name string
	do   func(wasi.Tree) wasi.Errno
}

func randomOp(r *rand.Rand) op {
	names := []string{"a", "b", "c", "d", "d/a", "d/e", "d/e/a", "f", "f/a", "f/g", "d/l", "g"}
	p, q := "/w/"+names[r.IntN(len(names))], "/w/"+names[r.IntN(len(names))]
	text := fmt.Sprint(r.IntN(1000))
	ops := map[string]func(wasi.Tree) wasi.Errno{
		"write " + p:       func(t wasi.Tree) wasi.Errno { return write(t, p, text, create) },
		"write again " + p: func(t wasi.Tree) wasi.Errno { return write(t, p, text, wasi.OpenOptions{Create: true}) },
		"patch " + p:       func(t wasi.Tree) wasi.Errno { return write(t, p, "*", wasi.OpenOptions{}) },
		"make " + p: func(t wasi.Tree) wasi.Errno {
			return write(t, p, text, wasi.OpenOptions{Create: true, Exclusive: true})
		},
		"unlink " + p:        func(t wasi.Tree) wasi.Errno { return t.Unlink(p) },
		"rmdir " + p:         func(t wasi.Tree) wasi.Errno { return t.Rmdir(p) },
		"mkdir " + p:         func(t wasi.Tree) wasi.Errno { return t.Mkdir(p) },
		"rename " + p + q:    func(t wasi.Tree) wasi.Errno { return t.Rename(p, q) },
		"rename to " + p + q: func(t wasi.Tree) wasi.Errno { return t.Rename(q, p) },
		"symlink " + p:       func(t wasi.Tree) wasi.Errno { return t.Symlink("a", p) },
		"link " + p + q:      func(t wasi.Tree) wasi.Errno { return t.Link(p, q, false) },
		"read " + p:          func(t wasi.Tree) wasi.Errno { _, e := read(t, p); return e },
		"stat " + p:          func(t wasi.Tree) wasi.Errno { _, e := t.Stat(p, true); return e },
	}
	all := slices.Sorted(maps.Keys(ops))
	name := all[r.IntN(len(all))]
	return op{name + " " + text, ops[name]}
}
