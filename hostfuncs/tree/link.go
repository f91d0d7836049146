package tree

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/tree/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Symlink implements wasi.Tree. A guest makes only links that stay in their mount: relative, ".."
// only at the beginning, and to a place that is granted for writing itself: a folder that only leads to one is not
// enough, and other links on the way are followed. So what other programs on the host read or write through it is what the
// guest itself could.
func (t *Tree) Symlink(target, path string) wasi.Errno {
	p, e := t.walk(path, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if e := t.vacant(p, t.mayName); e != wasi.ESUCCESS {
		return e
	}
	if p.mustDir {
		return wasi.ENOENT
	}
	if !t.staysInside(target, p) {
		return wasi.EPERM
	}
	return system.Errno(p.parent().root.Symlink(filepath.FromSlash(target), p.name))
}

// staysInside says whether a link at p with that target may be.
func (t *Tree) staysInside(target string, p *place) bool {
	return t.targetInside(target, p.parent(), p.host)
}

// targetInside says whether a link with that name on the host may have a target.
func (t *Tree) targetInside(target string, in *node, name string) bool {
	if l, ok := t.decider.(Leader); ok && l.Leads(name) {
		return false
	}
	folder := filepath.Dir(name)
	if in.anchor || strings.HasPrefix(target, "/") || filepath.IsAbs(filepath.FromSlash(target)) || filepath.VolumeName(target) != "" {
		return false
	}
	parts, _ := split(target)
	for i, part := range parts {
		if part == ".." && i > 0 && parts[i-1] != ".." {
			return false
		}
		if part != ".." && checkName(part) != wasi.ESUCCESS {
			return false
		}
	}
	to := filepath.Join(folder, filepath.FromSlash(target))
	_, inside := cutPrefix(to, in.mount.real)
	return inside && t.visible(to, false) && t.writable(to) && t.endsInside(target, in, folder)
}

// endsInside follows a link's target, as far as it is there, through the links that it leads through: where it ends has to be
// granted as well.
func (t *Tree) endsInside(target string, in *node, folder string) bool {
	rest, _ := cutPrefix(folder, in.mount.real)
	from := path.Join(in.mount.guest, filepath.ToSlash(rest))
	w := &walker{t: t, op: Write, follow: true, quiet: true}
	p, e := t.walkAs(w, from+"/"+target)
	switch {
	case w.refused:
		return false
	case e != wasi.ESUCCESS:
		return true // nothing is there: what comes is decided about as it is named
	}
	defer p.close()
	return p.parent().root != nil && t.visible(p.host, false) && t.writable(p.host)
}

// targetForGuest shows a link's target: an absolute one as the tree shows that path, others as they
// are.
func (t *Tree) targetForGuest(target string) string {
	if !filepath.IsAbs(target) {
		return filepath.ToSlash(target)
	}
	if guest, ok := t.toGuest(filepath.Clean(target)); ok {
		return guest
	}
	return GuestPath(target)
}

// Link implements wasi.Tree. Only what the guest may read and write gets a second name: else a name in
// a folder of its own would give it what its grants do not. A link is held to what Symlink asks.
func (t *Tree) Link(from, to string, follow bool) wasi.Errno {
	a, e := t.walk(from, follow, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer a.close()
	if e := t.mayLink(a); e != wasi.ESUCCESS {
		return e
	}
	b, e := t.walk(to, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer b.close()
	if e := t.vacant(b, t.mayName); e != wasi.ESUCCESS {
		return e
	}
	if b.mustDir {
		return wasi.ENOENT
	}
	if a.info.Mode()&fs.ModeSymlink != 0 {
		if e := t.mayMoveLink(a.parent().root, a.name, b.parent(), b.host); e != wasi.ESUCCESS {
			return e
		}
	}
	return system.Errno(link(a, b))
}

func (t *Tree) mayLink(p *place) wasi.Errno {
	if e := t.see(p, Write); e != wasi.ESUCCESS {
		return e
	}
	if p.isDir() || p.info.Mode()&^fs.ModePerm&^fs.ModeSymlink != 0 {
		return wasi.EPERM
	}
	if e := t.allow(Read, p.host, false); e != wasi.ESUCCESS {
		return e
	}
	return t.allow(Write, p.host, false)
}

// link gives a file a second name, and takes it back if it turns out to be another file's.
func link(a, b *place) error {
	if err := system.Link(a.entry(), b.entry()); err != nil {
		return err
	}
	info, err := b.parent().root.Lstat(b.name)
	if err == nil && !os.SameFile(info, a.info) {
		_ = b.parent().root.Remove(b.name)
		return wasi.EBUSY
	}
	return err
}
