package jail

import (
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// hop reads a link and continues with its target, which is decided like any other path.
func (w *walker) hop(name, host string) wasi.Errno {
	cur := w.at.parent()
	if w.hops++; w.hops > maxHops {
		return wasi.ELOOP
	}
	if !w.passes(host, true) {
		return wasi.ENOENT
	}
	target, err := cur.root.Readlink(name)
	if err != nil {
		return lookedErrno(err)
	}
	parts, slash := split(filepath.ToSlash(target))
	w.mustDir = w.mustDir || slash && len(w.todo) == 0
	if !filepath.IsAbs(target) && !cur.anchor && climb(parts) <= depth(cur) {
		w.todo = append(parts, w.todo...)
		return wasi.ESUCCESS
	}
	return w.jump(cur, target)
}

// climb returns the number of levels by which a relative path, taken literally, leads above its start.
func climb(parts []string) int {
	up, at := 0, 0
	for _, p := range parts {
		if p == ".." {
			at--
		} else {
			at++
		}
		up = max(up, -at)
	}
	return up
}

// depth returns the number of levels of a folder below its mount.
func depth(n *node) int {
	rest, _ := under(n.guest, n.mount.guest)
	parts, _ := split(rest)
	return len(parts)
}

// jump continues at a target that is absolute or above the mount. Such a target is a host path, which is in the tree
// if a mount covers it.
func (w *walker) jump(cur *node, target string) wasi.Errno {
	host := jumpTarget(cur, target)
	guest, ok := w.r.mounts.toGuest(host)
	if !ok {
		return w.refuse(w.wanted(host))
	}
	parts, _ := split(guest)
	w.todo = append(parts, w.todo...)
	return w.top()
}

// jumpTarget returns the absolute host path of the target of a link in a folder.
func jumpTarget(cur *node, target string) string {
	if filepath.IsAbs(target) {
		return filepath.Clean(target)
	}
	return filepath.Join(cur.host, target)
}
