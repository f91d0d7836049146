package overlay

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

const (
	maxHops  = 40  // links on one path, as in the tree
	maxDepth = 200 // folders on one path, as in the tree
	maxName  = 255 // bytes of a name
)

// walk resolves one path step by step, each in the tree or among the nodes.
type walk struct {
	v      *view
	op     jail.Op
	follow bool
	slash  bool
	todo   []string
	hops   int
	dirs   []spot // the folders on the way, "/" first
}

func (w *walk) run(guest string) (spot, wasi.Errno) {
	root, e := w.v.lower.Peek("/")
	if e != wasi.ESUCCESS {
		return spot{}, e
	}
	w.dirs = []spot{{Spot: root}}
	w.add(guest)
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		if name == ".." {
			w.dirs = w.dirs[:max(1, len(w.dirs)-1)]
			continue
		}
		if len(w.dirs) > maxDepth {
			return spot{}, wasi.ENAMETOOLONG
		}
		at, done, e := w.step(name)
		if done || e != wasi.ESUCCESS {
			at.Slash = w.slash
			return at, e
		}
	}
	at := w.dirs[len(w.dirs)-1]
	at.Slash = true
	return at, wasi.ESUCCESS
}

// add puts the steps of a path before the remaining ones. An absolute path restarts at the top.
func (w *walk) add(p string) {
	if strings.HasPrefix(p, "/") {
		w.dirs = w.dirs[:1]
	}
	var parts []string
	slash := false
	for part := range strings.SplitSeq(p, "/") {
		slash = part == "" || part == "." || part == ".."
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if len(w.todo) == 0 {
		w.slash = w.slash || slash
	}
	w.todo = append(parts, w.todo...)
}

// step goes to a name in the current folder. If done is set the path ends there.
func (w *walk) step(name string) (at spot, done bool, e wasi.Errno) {
	if at, e = w.look(name); e != wasi.ESUCCESS {
		return at, false, e
	}
	last := len(w.todo) == 0
	switch {
	case !last && at.node == nil && at.Real != "" && !w.v.lower.Shows(at.Host, true):
		_, e := w.hidden(name)
		return at, false, e
	case at.isLink() && (!last || (w.follow || w.slash) && w.seen(&at, true)):
		return at, false, w.hop(at)
	case last && (w.slash && at.there() && !at.isDir()) && w.seen(&at, false):
		return at, false, wasi.ENOTDIR
	case last:
		return at, true, wasi.ESUCCESS
	case !at.there():
		_, e := w.hidden(name)
		return at, false, e
	case !at.isDir():
		return at, false, wasi.ENOTDIR
	}
	w.dirs = append(w.dirs, at)
	return at, false, wasi.ESUCCESS
}

// seen reports whether the guest may see the object at the end of the path. If not, the guest must not learn its type
// or the target of a link: the caller returns the same error as for a path that does not exist.
func (w *walk) seen(at *spot, folder bool) bool {
	return at.node != nil || at.Real == "" || w.v.lower.Shows(at.Host, folder)
}

// look looks up a name in the current folder.
func (w *walk) look(name string) (spot, wasi.Errno) {
	cur := &w.dirs[len(w.dirs)-1]
	if cur.node != nil && cur.node.kind == folder {
		if e := checkName(name); e != wasi.ESUCCESS {
			return spot{}, e
		}
		s := spot{Spot: cur.child(name)}
		s.Fixed = w.v.lower.Leads(s.Guest)
		s.node = w.v.changes.at(s.Real)
		return s, wasi.ESUCCESS
	}
	if strings.HasPrefix(name, commit.Prefix) {
		return spot{}, wasi.EACCES // a temporary of a landing
	}
	s, e := w.v.lower.Peek(path.Join(cur.Guest, name))
	if e == wasi.ENOENT {
		return w.hidden(name)
	}
	if e != wasi.ESUCCESS {
		return spot{}, e
	}
	at := spot{Spot: s}
	if s.Real != "" {
		at.node = w.v.changes.at(s.Real)
	}
	return at, wasi.ESUCCESS
}

// hidden asks the tree for the error of a path that it does not show, which also records the denial.
func (w *walk) hidden(name string) (spot, wasi.Errno) {
	cur := &w.dirs[len(w.dirs)-1]
	s, e := w.v.lower.Look(path.Join(cur.Guest, name, path.Join(w.todo...)), w.follow, w.op)
	if e == wasi.ESUCCESS {
		e = wasi.ENOENT
	}
	return spot{Spot: s}, e
}

// hop continues at the target of a link.
func (w *walk) hop(at spot) wasi.Errno {
	if w.hops++; w.hops > maxHops {
		return wasi.ELOOP
	}
	if at.node != nil {
		w.add(at.node.target) // relative, and inside the mount: the call created it
		return wasi.ESUCCESS
	}
	to, e := w.v.lower.Follow(at.Guest, w.op)
	if e != wasi.ESUCCESS {
		return e
	}
	w.add(to)
	return wasi.ESUCCESS
}

// checkName rejects names that are invalid on every file system, and those reserved for landings.
func checkName(name string) wasi.Errno {
	switch {
	case len(name) > maxName:
		return wasi.ENAMETOOLONG
	case strings.ContainsRune(name, 0):
		return wasi.EINVAL
	case strings.HasPrefix(name, commit.Prefix):
		return wasi.EACCES
	case !utf8.ValidString(name):
		return wasi.EILSEQ
	}
	return wasi.ESUCCESS
}
