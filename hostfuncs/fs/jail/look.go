package jail

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Spot is the place that a path leads to. It is used by packages that keep the changes of a call apart from the host's
// files.
type Spot struct {
	Guest string      // path without links
	Host  string      // host path without links, on which decisions are made
	Real  string      // the same if a mount covers it; empty above all mounts
	Info  fs.FileInfo // of the object; nil if there is none, or for a folder that was walked through
	Dir   bool        // the object is a folder
	Slash bool        // the path ended in a slash, or in "." or ".."
	Fixed bool        // a mount is at or below it: it must not be created, moved or removed
}

// Link reports whether the object is a symbolic link.
func (s *Spot) Link() bool { return s.Info != nil && s.Info.Mode()&fs.ModeSymlink != 0 }

// There reports whether an object exists at the place.
func (s *Spot) There() bool { return s.Dir || s.Info != nil }

// Look walks to a path. A denial on the way is recorded. Access to the object itself is decided by Permit.
func (t *Tree) Look(guest string, follow bool, op Op) (Spot, wasi.Errno) {
	return t.paths.look(guest, follow, op, false)
}

// Peek is Look without following a last link and without recording denials. It is for one step of a walk that
// continues elsewhere.
func (t *Tree) Peek(guest string) (Spot, wasi.Errno) { return t.paths.look(guest, false, Write, true) }

// Permit decides on an effect on a host path and records a denial: EACCES if the guest may see the path, ENOENT if
// not.
func (t *Tree) Permit(op Op, host string, folder bool) wasi.Errno {
	return t.access.allow(op, host, folder)
}

// Shows reports whether the guest may see a path. Nothing is recorded.
func (t *Tree) Shows(host string, folder bool) bool { return t.access.visible(host, folder) }

// Leads reports whether a mount is below the guest path, or an empty folder at or below it.
func (t *Tree) Leads(guest string) bool { return t.mounts.leads(guest) }

// Follow reads the link at a path without links and returns its target as an absolute path of the tree, which may
// itself contain links.
func (t *Tree) Follow(guest string, op Op) (string, wasi.Errno) {
	p, e := t.paths.walk(guest, false, op)
	if e != wasi.ESUCCESS {
		return "", e
	}
	defer p.close()
	target, err := p.parent().root.Readlink(p.name)
	if err != nil {
		return "", lookedErrno(err)
	}
	cur := p.parent()
	parts, _ := split(filepath.ToSlash(target))
	if !filepath.IsAbs(target) && !cur.anchor && climb(parts) <= depth(cur) {
		return path.Dir(p.guest) + "/" + filepath.ToSlash(target), wasi.ESUCCESS
	}
	host := jumpTarget(cur, target)
	to, ok := t.mounts.toGuest(host)
	if !ok {
		return "", t.access.refuse(op, host)
	}
	return to, wasi.ESUCCESS
}

// LinkStays reports whether a link with that target may be created at a guest path. See Symlink.
func (t *Tree) LinkStays(target, at string) bool {
	m, rest := t.mounts.covering(at)
	if m == nil || m.open() != nil || m.root == nil {
		return false
	}
	return t.rules.targetInside(target, &node{mount: m}, filepath.Join(m.real, filepath.FromSlash(rest)))
}

// Folder opens the parent folder of a path without links that was already granted. The caller closes it.
func (t *Tree) Folder(guest string) (*os.Root, wasi.Errno) {
	p, e := again(func() (*place, wasi.Errno) {
		return t.paths.walkAs(&walker{r: t.paths, op: Write, quiet: true, decided: true}, guest)
	})
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer p.close()
	n := p.parent()
	if p.name == "" && len(p.nodes) > 1 {
		n = &p.nodes[len(p.nodes)-2]
	}
	if n.root == nil {
		return nil, wasi.EROFS
	}
	root, err := n.root.OpenRoot(".")
	return root, system.Errno(err)
}

// EndsInDots reports whether a path ends in "." or "..", and so names no entry of a folder.
func EndsInDots(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return last == "." || last == ".."
}

// Opened is implemented by the files and folders that a Tree opens.
type Opened interface{ Spot() Spot }

var (
	_ Opened = (*file)(nil)
	_ Opened = (*folder)(nil)
)
