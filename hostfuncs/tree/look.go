package tree

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/hostfuncs/tree/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Spot is where a path leads, for who keeps the changes of a call apart from the host's files.
type Spot struct {
	Guest string      // the path without links
	Host  string      // the host path without links, which decisions are about
	Real  string      // the same where a mount shows it; empty above all mounts
	Info  fs.FileInfo // of what is there; nil if nothing is, or if it is a folder that was walked through
	Dir   bool        // it is a folder
	Slash bool        // it was written as a folder's
	Fixed bool        // a mount is at or below it: it is not to be made, moved or removed
}

// Link says whether a symbolic link is there.
func (s *Spot) Link() bool { return s.Info != nil && s.Info.Mode()&fs.ModeSymlink != 0 }

// There says whether anything is.
func (s *Spot) There() bool { return s.Dir || s.Info != nil }

// Look walks to a path. A refusal on the way is recorded; whether the guest may see what is there, or do
// anything with it, is asked by Permit.
func (t *Tree) Look(guest string, follow bool, op Op) (Spot, wasi.Errno) {
	return t.look(guest, follow, op, false)
}

// Peek is Look without following a last link, and without a record of what is refused: for one step of a
// walk that goes on elsewhere.
func (t *Tree) Peek(guest string) (Spot, wasi.Errno) { return t.look(guest, false, Write, true) }

func (t *Tree) look(guest string, follow bool, op Op, quiet bool) (Spot, wasi.Errno) {
	p, e := again(func() (*place, wasi.Errno) {
		return t.walkAs(&walker{t: t, op: op, follow: follow, quiet: quiet}, guest)
	})
	if e != wasi.ESUCCESS {
		return Spot{}, e
	}
	defer p.close()
	s := Spot{Guest: p.guest, Host: p.host, Info: p.info, Dir: p.isDir(), Slash: p.mustDir}
	if p.parent().root == nil {
		s.Fixed = true
		return s, wasi.ESUCCESS
	}
	s.Real = p.host
	s.Fixed = p.name == "" && p.parent().mount.guest == p.guest || t.busy(p)
	return s, wasi.ESUCCESS
}

// Permit decides about an effect on a host path and records a refusal: EACCES if the guest may see it,
// ENOENT if not.
func (t *Tree) Permit(op Op, host string, folder bool) wasi.Errno { return t.allow(op, host, folder) }

// Shows says whether the guest may see a path, and records nothing.
func (t *Tree) Shows(host string, folder bool) bool { return t.visible(host, folder) }

// Leads says whether a mount is below the guest path.
func (t *Tree) Leads(guest string) bool { return t.leads(guest) }

// Follow reads the link at a path without links and returns where it leads: an absolute path of the tree,
// not yet without links itself.
func (t *Tree) Follow(guest string, op Op) (string, wasi.Errno) {
	p, e := t.walk(guest, false, op)
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
	to, ok := t.toGuest(host)
	if !ok {
		return "", t.refuse(op, host)
	}
	return to, wasi.ESUCCESS
}

// LinkStays says whether a link with that target may be made at a guest's path: see Symlink.
func (t *Tree) LinkStays(target, at string) bool {
	for _, m := range t.mounts { // the longest guest path first
		if rest, ok := under(at, m.guest); ok {
			if m.open() != nil || m.root == nil {
				return false
			}
			return t.targetInside(target, &node{mount: m}, filepath.Join(m.real, filepath.FromSlash(rest)))
		}
	}
	return false
}

// Folder opens the folder that holds the last name of a path without links, about which was decided. The caller closes it.
func (t *Tree) Folder(guest string) (*os.Root, wasi.Errno) {
	p, e := again(func() (*place, wasi.Errno) {
		return t.walkAs(&walker{t: t, op: Write, quiet: true, decided: true}, guest)
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

// Opened is met by the files and folders that a Tree opens.
type Opened interface{ Spot() Spot }

var (
	_ Opened = (*file)(nil)
	_ Opened = (*folder)(nil)
)
