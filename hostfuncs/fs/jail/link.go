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
	p, e := t.paths.walk(path, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if e := t.rules.vacant(p, t.rules.mayName); e != wasi.ESUCCESS {
		return e
	}
	if p.mustDir {
		return wasi.ENOENT
	}
	if !t.rules.targetInside(target, p.parent(), p.host) {
		return wasi.EPERM
	}
	return system.Errno(p.parent().root.Symlink(filepath.FromSlash(target), p.name))
}

// Link implements wasi.Tree. The file must be granted for reading and writing: a second name in a folder of the guest
// would otherwise bypass its grants. For a symbolic link the rules of Symlink apply.
func (t *Tree) Link(from, to string, follow bool) wasi.Errno {
	a, e := t.paths.walk(from, follow, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer a.close()
	if e := t.rules.mayLink(a); e != wasi.ESUCCESS {
		return e
	}
	b, e := t.paths.walk(to, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer b.close()
	if e := t.rules.vacant(b, t.rules.mayName); e != wasi.ESUCCESS {
		return e
	}
	if b.mustDir {
		return wasi.ENOENT
	}
	if a.info.Mode()&fs.ModeSymlink != 0 {
		if e := t.rules.mayMoveLink(a.parent().root, a.name, b.parent(), b.host); e != wasi.ESUCCESS {
			return e
		}
	}
	return system.Errno(link(a, b))
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

// targetInside reports whether a link with that host path may have a target.
func (r *rules) targetInside(target string, in *node, name string) bool {
	if r.access.leads(name) {
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
	return inside && r.access.visible(to, false) && r.access.writable(to) && r.endsInside(target, in, folder)
}

// endsInside follows the target of a link, as far as it exists, through all links on the way. The final path must be
// granted as well.
func (r *rules) endsInside(target string, in *node, folder string) bool {
	rest, _ := cutPrefix(folder, in.mount.real)
	from := path.Join(in.mount.guest, filepath.ToSlash(rest))
	w := &walker{r: r.paths, op: Write, follow: true, quiet: true}
	p, e := r.paths.walkAs(w, from+"/"+target)
	switch {
	case w.refused:
		return false
	case e != wasi.ESUCCESS:
		return true // no object is there: one created later is decided on by its path
	}
	defer p.close()
	return p.parent().root != nil && r.access.visible(p.host, false) && r.access.writable(p.host)
}
