package overlay

import (
	"cmp"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// view is the file system as the call sees it: the tree, with the changes of the call. It resolves paths, and decides on
// the objects there.
type view struct {
	lower    *jail.Tree
	changes  *changeset
	linksOut func(host, target string) // called for each refused link; nil if nobody is told
}

// find resolves a path in the view of the call. Before the first write the tree does it.
func (v *view) find(guest string, follow bool, op jail.Op) (spot, wasi.Errno) {
	if v.changes.empty() {
		s, e := v.lower.Look(guest, follow, op)
		return spot{Spot: s}, e
	}
	w := &walk{v: v, op: op, follow: follow}
	return w.run(guest)
}

// stat describes the object at a path.
func (v *view) stat(name string, follow bool) (wasi.Stat, wasi.Errno) {
	if v.changes.empty() {
		return v.lower.Stat(name, follow)
	}
	s, e := v.find(name, follow, jail.Read)
	if e == wasi.ESUCCESS {
		e = v.see(&s, jail.Read)
	}
	if e != wasi.ESUCCESS {
		return wasi.Stat{}, e
	}
	if s.node == nil || s.node.kind == touched {
		st, e := v.lower.Stat(s.Guest, false)
		if s.node != nil {
			st = withTimes(st, s.node.times)
		}
		return st, e
	}
	return s.node.stat(), wasi.ESUCCESS
}

// readlink returns the target of a link.
func (v *view) readlink(name string) (string, wasi.Errno) {
	s, e := v.find(name, false, jail.Read)
	if e == wasi.ESUCCESS {
		e = v.see(&s, jail.Read)
	}
	switch {
	case e != wasi.ESUCCESS:
		return "", e
	case !s.isLink():
		return "", wasi.EINVAL
	case s.node != nil:
		return s.node.target, wasi.ESUCCESS
	}
	return v.lower.Readlink(s.Guest)
}

// names lists a folder, including entries that the guest may not see: a folder that contains some is neither empty nor
// moved.
func (v *view) names(s *spot) ([]string, wasi.Errno) {
	var names []string
	for _, e := range v.entries(s.Real) {
		names = append(names, e.Name)
	}
	if s.node != nil && s.node.kind == folder {
		return names, wasi.ESUCCESS
	}
	root, e := v.lower.Folder(s.Guest)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(filepath.Base(s.Real))
	if err != nil {
		return nil, wasi.EACCES
	}
	defer func() { _ = f.Close() }()
	host, err := f.Readdirnames(maxMoved + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, wasi.EIO
	}
	if len(host) > maxMoved {
		return nil, wasi.EXDEV
	}
	for _, name := range host {
		if n := v.changes.at(filepath.Join(s.Real, name)); n == nil || n.kind == touched {
			names = append(names, name)
		}
	}
	return names, wasi.ESUCCESS
}

// entries lists the entries of a folder that the call created or replaced.
func (v *view) entries(real string) []wasi.DirEntry {
	at := v.changes.key(real)
	if real == "" || v.changes.below[at] == 0 {
		return nil
	}
	var list []wasi.DirEntry
	for k, n := range v.changes.nodes {
		if n.kind == gone || n.kind == touched || filepath.Dir(k) != at {
			continue
		}
		st := n.stat()
		if v.lower.Shows(n.at.Host, n.isDir()) {
			list = append(list, wasi.DirEntry{Name: path.Base(n.at.Guest), Type: st.Type, Ino: st.Ino})
		}
	}
	slices.SortFunc(list, func(a, b wasi.DirEntry) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
