package jail

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

const (
	// maxHops is the maximum number of links on one path, as on Linux.
	maxHops = 40
	// maxDepth is the maximum depth of a path, since each folder on the way is held open.
	maxDepth = 200
	// maxName is the maximum length of a name, in bytes, of common file systems.
	maxName = 255
)

// walker resolves one path.
type walker struct {
	r       *resolver
	op      Op // the requested operation, for a denial
	follow  bool
	quiet   bool // denials are not recorded
	refused bool // the walk reached a path that the guest may not see
	decided bool // the operation is already granted, and every folder on the way may be passed
	mustDir bool
	todo    []string
	hops    int
	at      place
	room    [4]node // avoids an allocation for most paths
}

// split divides a path into names and "..", and reports whether it must lead to a folder.
func split(p string) (parts []string, mustDir bool) {
	parts = make([]string, 0, strings.Count(p, "/")+1)
	for part := range strings.SplitSeq(p, "/") {
		mustDir = part == "" || part == "." || part == ".."
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts, mustDir
}

func (w *walker) run() wasi.Errno {
	if e := w.top(); e != wasi.ESUCCESS {
		return e
	}
	for len(w.todo) > 0 && w.at.name == "" {
		part := w.todo[0]
		w.todo = w.todo[1:]
		if part == ".." {
			w.pop()
			continue
		}
		if len(w.at.nodes) > maxDepth {
			return wasi.ENAMETOOLONG
		}
		if e := w.step(part); e != wasi.ESUCCESS {
			return e
		}
	}
	if w.at.name == "" {
		w.at.guest, w.at.host = w.at.parent().guest, w.at.parent().host
	}
	return wasi.ESUCCESS
}

// top starts the walk at "/".
func (w *walker) top() wasi.Errno {
	w.at.close()
	w.at = place{nodes: w.room[:0]}
	if m := w.r.mounts.at("/"); m != nil {
		return w.enter(m)
	}
	w.push(node{guest: "/"})
	return wasi.ESUCCESS
}

func (w *walker) push(n node) { w.at.nodes = append(w.at.nodes, n) }

func (w *walker) pop() {
	last := len(w.at.nodes) - 1
	if last == 0 {
		return
	}
	if n := w.at.nodes[last]; n.owned {
		_ = n.root.Close()
	}
	w.at.nodes = w.at.nodes[:last]
}

// step goes to a name in the current folder.
func (w *walker) step(name string) wasi.Errno {
	cur := w.at.parent()
	guest := path.Join(cur.guest, name)
	if m := w.r.mounts.at(guest); m != nil {
		return w.enter(m)
	}
	if host := filepath.Join(cur.host, name); cur.mount != nil && (!w.r.mounts.leads(guest) || w.r.access.visible(host, true)) {
		return w.child(name, guest, host)
	}
	if w.r.mounts.leads(guest) {
		w.push(node{guest: guest})
		return wasi.ESUCCESS
	}
	if len(w.todo) == 0 && w.op == Write {
		w.at.name, w.at.guest, w.at.host = name, guest, HostPath(guest)
		return wasi.ESUCCESS // vacant, and no object can be created: see decides on the error
	}
	return w.refuse(w.wanted(HostPath(guest)))
}

// enter goes to a mount.
func (w *walker) enter(m *mount) wasi.Errno {
	if err := m.open(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return system.Errno(err)
	}
	if m.root != nil {
		if m.real != m.host && !w.passes(m.real, true) {
			return wasi.ENOENT
		}
		w.push(node{guest: m.guest, host: m.real, mount: m, root: m.root})
		return wasi.ESUCCESS
	}
	root, at, err := m.anchor()
	if err != nil {
		return system.Errno(err)
	}
	w.push(node{guest: path.Dir(m.guest), host: filepath.Dir(at), mount: m, root: root, owned: true, anchor: true})
	return w.child(filepath.Base(at), m.guest, at)
}

// child looks up a name in a folder of the host and goes there.
func (w *walker) child(name, guest, host string) wasi.Errno {
	if e := checkName(name); e != wasi.ESUCCESS {
		return e
	}
	cur := w.at.parent()
	info, err := cur.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.absent(name, guest, host)
	case err != nil:
		return system.Errno(err)
	}
	if real := trueName(cur.root, name, info); real == "" {
		return wasi.ENOENT
	} else if real != name && !cur.anchor {
		name, guest, host = real, path.Join(path.Dir(guest), real), filepath.Join(filepath.Dir(host), real)
	}
	last := len(w.todo) == 0
	switch {
	case info.Mode()&fs.ModeSymlink != 0 && (!last || w.follow || w.mustDir):
		return w.hop(name, host)
	case last:
		w.at.name, w.at.info, w.at.guest, w.at.host = name, info, guest, host
		return wasi.ESUCCESS
	case !w.passes(host, info.IsDir()):
		return wasi.ENOENT
	case !info.IsDir():
		return wasi.ENOTDIR
	}
	root, err := openFolder(cur.root, name, info)
	if err != nil {
		return lookedErrno(err)
	}
	w.push(node{guest: guest, host: host, mount: cur.mount, root: root, owned: true})
	return wasi.ESUCCESS
}

// absent handles a name that does not exist: as the last name, it is a place where an object may be created.
func (w *walker) absent(name, guest, host string) wasi.Errno {
	switch {
	case w.r.mounts.leads(guest):
		w.push(node{guest: guest})
		return wasi.ESUCCESS
	case len(w.todo) == 0:
		w.at.name, w.at.guest, w.at.host = name, guest, host
		return wasi.ESUCCESS
	case !w.r.access.visible(host, true):
		return w.refuse(w.wanted(host))
	}
	return wasi.ENOENT
}

// wanted returns the requested path below host if it is known. With ".." in the rest of the path it is not, and host
// is returned.
func (w *walker) wanted(host string) string {
	if slices.Contains(w.todo, "..") {
		return host
	}
	return filepath.Join(host, filepath.Join(w.todo...))
}

// passes reports whether the walk may go through a folder or a link. A denial names the requested path.
func (w *walker) passes(host string, folder bool) bool {
	if w.decided || w.r.access.visible(host, folder) {
		return true
	}
	w.refused = w.quiet || w.r.access.decider.Allow(w.op, w.wanted(host)) != nil
	return !w.refused
}

// refuse records a denial, unless the walk is quiet.
func (w *walker) refuse(host string) wasi.Errno {
	w.refused = true
	if w.quiet {
		return wasi.ENOENT
	}
	return w.r.access.refuse(w.op, host)
}
