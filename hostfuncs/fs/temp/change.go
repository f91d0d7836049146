package temp

import "github.com/sallyport-mcp/sallyport/hostfuncs/wasi"

// Open implements wasi.Tree.
func (t *Tree) Open(path string, o wasi.OpenOptions) (wasi.File, wasi.Errno) {
	if !Has(path) {
		return t.Tree.Open(path, o)
	}
	at, e := t.find(path)
	switch {
	case e != wasi.ESUCCESS:
		return nil, e
	case at.node == nil && !o.Create:
		return nil, wasi.ENOENT
	case at.node == nil && folderWanted(path):
		return nil, wasi.EISDIR
	case at.node == nil:
		if at.node, e = t.make(at, wasi.TypeRegular); e != wasi.ESUCCESS {
			return nil, e
		}
	case o.Create && o.Exclusive:
		return nil, wasi.EEXIST
	case at.node.folder() && o.Write:
		return nil, wasi.EISDIR
	case o.Directory && !at.node.folder():
		return nil, wasi.ENOTDIR
	case o.Truncate:
		_ = t.resize(at.node, 0) // it shrinks
	}
	at.node.opened++
	return &handle{tree: t, node: at.node, read: o.Read, write: o.Write}, wasi.ESUCCESS
}

// Stat implements wasi.Tree.
func (t *Tree) Stat(path string, follow bool) (wasi.Stat, wasi.Errno) {
	if !Has(path) {
		return t.Tree.Stat(path, follow)
	}
	at, e := t.existing(path)
	if e != wasi.ESUCCESS {
		return wasi.Stat{}, e
	}
	return at.node.describe(), wasi.ESUCCESS
}

// Chtimes implements wasi.Tree.
func (t *Tree) Chtimes(path string, times wasi.Times, follow bool) wasi.Errno {
	if !Has(path) {
		return t.Tree.Chtimes(path, times, follow)
	}
	at, e := t.existing(path)
	if e == wasi.ESUCCESS {
		at.node.set(times)
	}
	return e
}

// Mkdir implements wasi.Tree.
func (t *Tree) Mkdir(path string) wasi.Errno {
	if !Has(path) {
		return t.Tree.Mkdir(path)
	}
	at, e := t.find(path)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case at.node != nil:
		return wasi.EEXIST
	}
	_, e = t.make(at, wasi.TypeDirectory)
	return e
}

// Unlink implements wasi.Tree.
func (t *Tree) Unlink(path string) wasi.Errno {
	if !Has(path) {
		return t.Tree.Unlink(path)
	}
	at, e := t.existing(path)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case at.node.folder():
		return wasi.EISDIR
	}
	t.drop(at)
	return wasi.ESUCCESS
}

// Rmdir implements wasi.Tree. The folder itself stays.
func (t *Tree) Rmdir(path string) wasi.Errno {
	if !Has(path) {
		return t.Tree.Rmdir(path)
	}
	at, e := t.existing(path)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case !at.node.folder():
		return wasi.ENOTDIR
	case at.up == nil:
		return wasi.EBUSY
	case len(at.node.entries) > 0:
		return wasi.ENOTEMPTY
	}
	t.drop(at)
	return wasi.ESUCCESS
}

// Symlink implements wasi.Tree. The folder has no symbolic links.
func (t *Tree) Symlink(target, path string) wasi.Errno {
	if !Has(path) {
		return t.Tree.Symlink(target, path)
	}
	return wasi.EPERM
}

// Readlink implements wasi.Tree.
func (t *Tree) Readlink(path string) (string, wasi.Errno) {
	if !Has(path) {
		return t.Tree.Readlink(path)
	}
	_, e := t.existing(path)
	if e == wasi.ESUCCESS {
		e = wasi.EINVAL
	}
	return "", e
}

// Link implements wasi.Tree. The folder has no hard links.
func (t *Tree) Link(from, to string, follow bool) wasi.Errno {
	switch inside := Has(from); {
	case inside != Has(to):
		return wasi.EXDEV
	case !inside:
		return t.Tree.Link(from, to, follow)
	}
	return wasi.EPERM
}

// Rename implements wasi.Tree.
func (t *Tree) Rename(from, to string) wasi.Errno {
	switch inside := Has(from); {
	case inside != Has(to):
		return wasi.EXDEV
	case !inside:
		return t.Tree.Rename(from, to)
	}
	a, e := t.existing(from)
	if e != wasi.ESUCCESS {
		return e
	}
	b, e := t.find(to)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := movable(a, b, folderWanted(to)); e != wasi.ESUCCESS || a.node == b.node {
		return e
	}
	if b.node != nil {
		t.drop(b)
	}
	delete(a.up.entries, a.name)
	t.changed(a.up)
	t.put(b, a.node)
	return wasi.ESUCCESS
}

// movable decides on moving the object at a to b.
func movable(a, b spot, folderWanted bool) wasi.Errno {
	switch {
	case a.up == nil || b.up == nil:
		return wasi.EBUSY
	case len(b.name) > maxName:
		return wasi.ENAMETOOLONG
	case a.node.folder() && b.up.below(a.node):
		return wasi.EINVAL
	case !a.node.folder() && (folderWanted || b.node != nil && b.node.folder()):
		return wasi.EISDIR
	case a.node.folder() && b.node != nil && !b.node.folder():
		return wasi.ENOTDIR
	case a.node != b.node && b.node != nil && len(b.node.entries) > 0:
		return wasi.ENOTEMPTY
	}
	return wasi.ESUCCESS
}
