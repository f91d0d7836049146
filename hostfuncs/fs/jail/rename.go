package jail

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// maxMoved is the maximum number of entries, at all depths, of a folder that is moved in one step: each entry is
// decided on. A larger folder returns EXDEV, and programs then move entry by entry.
const maxMoved = 100_000

// Rename implements wasi.Tree. Both paths need a grant to write, and the old one a grant to read, since the moved
// object may be readable at its new path. A folder moves only if the same holds for all its entries.
func (t *Tree) Rename(from, to string) wasi.Errno {
	_, e := again(func() (struct{}, wasi.Errno) { return struct{}{}, t.renameOnce(from, to) })
	return e
}

func (t *Tree) renameOnce(from, to string) wasi.Errno {
	a, e := t.rules.changeable(from)
	if e != wasi.ESUCCESS {
		return e
	}
	defer a.close()
	if EndsInDots(to) {
		return wasi.EINVAL
	}
	b, e := t.paths.walk(to, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer b.close()
	if e := t.rules.mayRename(a, b); e != wasi.ESUCCESS {
		return e
	}
	if b.info != nil && os.SameFile(a.info, b.info) {
		return wasi.ESUCCESS
	}
	if err := system.Rename(a.entry(), b.entry()); err != nil {
		return system.Errno(err)
	}
	t.folders.moved(a, b)
	return wasi.ESUCCESS
}

// mayRename decides on both paths of a rename.
func (r *rules) mayRename(a, b *place) wasi.Errno {
	if e := r.access.allow(Read, a.host, a.isDir()); e != wasi.ESUCCESS {
		return e
	}
	if e := r.mayReplace(a, b); e != wasi.ESUCCESS {
		return e
	}
	if a.anchored() || b.anchored() {
		return wasi.EBUSY
	}
	if _, inside := under(b.guest, a.guest); inside && a.isDir() && a.guest != b.guest {
		return wasi.EINVAL
	}
	switch {
	case a.isDir():
		return r.mayMove(a, b)
	case a.info.Mode()&fs.ModeSymlink != 0:
		return r.mayMoveLink(a.parent().root, a.name, b.parent(), b.host)
	}
	return wasi.ESUCCESS
}

// mayReplace decides on the new path: vacant, or with an object that may be replaced.
func (r *rules) mayReplace(a, b *place) wasi.Errno {
	switch {
	case b.name == "":
		if a.isDir() {
			return r.mayChange(b)
		}
		return wasi.EISDIR
	case b.mustDir && !a.isDir():
		return wasi.ENOTDIR
	case b.info == nil:
		return r.mayName(b)
	}
	if e := r.access.see(b, Write); e != wasi.ESUCCESS {
		return e
	}
	if e := r.mayChange(b); e != wasi.ESUCCESS {
		return e
	}
	return MayReplace(b.isDir(), a.isDir())
}

// MayReplace decides by kind on a rename over an existing object, as rename(2) does: only a folder replaces a folder.
func MayReplace(folder, byFolder bool) wasi.Errno {
	switch {
	case folder && !byFolder:
		return wasi.EISDIR
	case !folder && byFolder:
		return wasi.ENOTDIR
	}
	return wasi.ESUCCESS
}

// mayMove decides on every entry of a folder that is to be moved.
func (r *rules) mayMove(a, b *place) wasi.Errno {
	root, err := openFolder(a.parent().root, a.name, a.info)
	if err != nil {
		return system.Errno(err)
	}
	defer func() { _ = root.Close() }()
	left := maxMoved
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if left--; left < 0 {
			return wasi.EXDEV
		}
		return failure(r.mayMoveEntry(root, name, entry, a, b))
	})
	return system.Errno(err)
}

// mayMoveEntry decides on one entry of a folder that moves.
func (r *rules) mayMoveEntry(root *os.Root, name string, entry fs.DirEntry, a, b *place) wasi.Errno {
	from := filepath.Join(a.host, filepath.FromSlash(name))
	to := filepath.Join(b.host, filepath.FromSlash(name))
	if r.access.decider.Allow(Read, from) != nil || r.access.decider.Allow(Write, from) != nil || r.access.decider.Allow(Write, to) != nil {
		return wasi.EACCES
	}
	if entry.Type()&fs.ModeSymlink != 0 {
		return r.mayMoveLink(root, name, b.parent(), to)
	}
	return wasi.ESUCCESS
}

// mayMoveLink applies the rules of Symlink to a link that moves. An absolute link or one that leads outside, made by
// the operator, does not move.
func (r *rules) mayMoveLink(root *os.Root, name string, in *node, to string) wasi.Errno {
	target, err := root.Readlink(name)
	if err != nil {
		return system.Errno(err)
	}
	if !r.targetInside(filepath.ToSlash(target), in, to) {
		return wasi.EPERM
	}
	return wasi.ESUCCESS
}

func failure(e wasi.Errno) error {
	if e == wasi.ESUCCESS {
		return nil
	}
	return e
}
