package hostfuncs

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/denylist"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// veil hides the targets of the operator's links from a caller over HTTP: a path reached through a link is named as
// requested. Logs, the audit log and callers of this machine get the target. Only the guest's goroutine uses it.
type veil struct {
	paths *paths
	asked []string          // host paths of the current operation
	names map[string]string // targets of links, by the paths that were requested
}

// maxVeiled limits the names that one call remembers.
const maxVeiled = 4096

// name returns a path as the caller may know it; a nil veil hides nothing.
func (v *veil) name(place string) string {
	if v == nil {
		return place
	}
	for _, asked := range v.asked {
		if v.same(asked, place) || denylist.Below(asked, place) || denylist.Below(place, asked) {
			return v.translated(place)
		}
	}
	if len(v.asked) == 0 {
		return v.translated(place)
	}
	asked := v.asked[len(v.asked)-1]
	if first := v.asked[0]; filepath.Base(first) == filepath.Base(place) { // an operation on two paths
		asked = first
	}
	v.note(place, asked)
	return v.translated(asked)
}

func (v *veil) same(a, b string) bool { return v.paths.shown(a) == v.paths.shown(b) }

func (v *veil) note(place, asked string) {
	if v.names == nil {
		v.names = map[string]string{}
	}
	if len(v.names) < maxVeiled {
		v.names[place] = asked
	}
}

// translated replaces the target of a link by its requested name: guests continue from folders that they have opened.
func (v *veil) translated(place string) string {
	for dir := place; ; dir = filepath.Dir(dir) {
		if name, ok := v.names[dir]; ok && name != place {
			return filepath.Join(name, strings.TrimPrefix(place, dir))
		}
		if dir == filepath.Dir(dir) {
			return place
		}
	}
}

// ask sets the paths of the current operation until done is called.
func (v *veil) ask(guest ...string) (done func()) {
	v.asked = v.asked[:0]
	for _, g := range guest {
		v.asked = append(v.asked, v.host(g))
	}
	return func() { v.asked = v.asked[:0] }
}

// host returns the host path of a guest path, without following links.
func (v *veil) host(guest string) string {
	guest = path.Clean("/" + guest)
	folder := v.paths.rules.policy.plugin.Workspace
	if rest, below := strings.CutPrefix(guest+"/", workDir+"/"); below && folder != "" {
		return filepath.Join(folder, rest)
	}
	return jail.HostPath(guest)
}

// veiled is a tree that records the requested names of each operation.
type veiled struct {
	wasi.Tree
	veil *veil
}

var _ wasi.Tree = (*veiled)(nil)

// Open records the target of an opened link, which later paths start from.
func (t *veiled) Open(name string, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	defer t.veil.ask(name)()
	f, e := t.Tree.Open(name, o)
	if e == wasi.ESUCCESS {
		if at, asked := t.veil.host(f.Path()), t.veil.asked[0]; !t.veil.same(at, asked) {
			t.veil.note(at, asked)
		}
	}
	return f, e
}

// Stat implements wasi.Tree.
func (t *veiled) Stat(name string, follow bool) (wasi.Stat, wasi.Errno) {
	defer t.veil.ask(name)()
	return t.Tree.Stat(name, follow)
}

// Mkdir implements wasi.Tree.
func (t *veiled) Mkdir(name string) wasi.Errno {
	defer t.veil.ask(name)()
	return t.Tree.Mkdir(name)
}

// Rename implements wasi.Tree.
func (t *veiled) Rename(from, to string) wasi.Errno {
	defer t.veil.ask(from, to)()
	return t.Tree.Rename(from, to)
}

// Unlink implements wasi.Tree.
func (t *veiled) Unlink(name string) wasi.Errno {
	defer t.veil.ask(name)()
	return t.Tree.Unlink(name)
}

// Rmdir implements wasi.Tree.
func (t *veiled) Rmdir(name string) wasi.Errno {
	defer t.veil.ask(name)()
	return t.Tree.Rmdir(name)
}

// Symlink implements wasi.Tree.
func (t *veiled) Symlink(target, name string) wasi.Errno {
	defer t.veil.ask(name)()
	return t.Tree.Symlink(target, name)
}

// Readlink implements wasi.Tree.
func (t *veiled) Readlink(name string) (string, wasi.Errno) {
	defer t.veil.ask(name)()
	return t.Tree.Readlink(name)
}

// Link implements wasi.Tree.
func (t *veiled) Link(from, to string, follow bool) wasi.Errno {
	defer t.veil.ask(from, to)()
	return t.Tree.Link(from, to, follow)
}

// Chtimes implements wasi.Tree.
func (t *veiled) Chtimes(name string, times wasi.Times, follow bool) wasi.Errno {
	defer t.veil.ask(name)()
	return t.Tree.Chtimes(name, times, follow)
}
