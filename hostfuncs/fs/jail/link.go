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

// Symlink implements wasi.Tree. A guest can create only links that stay in their mount: relative, with ".." only at
// the beginning, and to a target that is itself granted for writing. A folder that only leads to a granted path is not
// enough. Other links on the way are followed. A host program that uses the link thus reaches nothing that the guest
// cannot reach itself.
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

// staysInside reports whether a link at p with that target is allowed.
func (t *Tree) staysInside(target string, p *place) bool {
	return t.targetInside(target, p.parent(), p.host)
}

// targetInside reports whether a link with that host path may have a target.
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

// endsInside follows the target of a link, as far as it exists, through all links on the way. The final path must be
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
		return true // no object is there: one created later is decided on by its path
	}
	defer p.close()
	return p.parent().root != nil && t.visible(p.host, false) && t.writable(p.host)
}

// targetForGuest maps the target of a link to the path that the tree shows for it. Relative targets are unchanged.
func (t *Tree) targetForGuest(target string) string {
	if !filepath.IsAbs(target) {
		return filepath.ToSlash(target)
	}
	if guest, ok := t.toGuest(filepath.Clean(target)); ok {
		return guest
	}
	return GuestPath(target)
}

// Link implements wasi.Tree. The file must be granted for reading and writing: a second name in a folder of the guest
// would otherwise bypass its grants. For a symbolic link the rules of Symlink apply.
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

// link gives a file a second name. If another file was linked because of a race, the name is removed again.
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
