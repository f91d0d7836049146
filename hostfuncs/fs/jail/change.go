package jail

import (
	"io/fs"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Mkdir implements wasi.Tree.
func (t *Tree) Mkdir(path string) wasi.Errno {
	p, e := t.paths.walk(path, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if e := t.rules.vacant(p, t.rules.mayMake); e != wasi.ESUCCESS {
		return e
	}
	return system.Errno(p.parent().root.Mkdir(p.name, folderPerm))
}

// Unlink implements wasi.Tree.
func (t *Tree) Unlink(path string) wasi.Errno {
	p, e := t.rules.changeable(path)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if p.isDir() {
		return wasi.EISDIR
	}
	return system.Errno(p.parent().root.Remove(p.name))
}

// Rmdir implements wasi.Tree.
func (t *Tree) Rmdir(path string) wasi.Errno {
	p, e := t.rules.changeable(path)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if !p.isDir() {
		return wasi.ENOTDIR
	}
	return system.Errno(p.parent().root.Remove(p.name))
}

// Chtimes implements wasi.Tree.
func (t *Tree) Chtimes(path string, times wasi.Times, follow bool) wasi.Errno {
	p, e := t.paths.walk(path, follow, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if e := t.access.see(p, Write); e != wasi.ESUCCESS {
		return e
	}
	if p.synthetic() {
		return wasi.EROFS
	}
	if e := t.access.allow(Write, p.host, p.isDir()); e != wasi.ESUCCESS {
		return e
	}
	st, e := p.stat()
	if e != wasi.ESUCCESS {
		return e
	}
	name := p.name
	if name == "" {
		name = "."
	}
	return system.Errno(system.SetTimesAt(p.parent().root, name, complete(times, st)))
}

// Readlink implements wasi.Tree.
func (t *Tree) Readlink(path string) (string, wasi.Errno) {
	p, e := t.paths.walk(path, false, Read)
	if e != wasi.ESUCCESS {
		return "", e
	}
	defer p.close()
	if e := t.access.see(p, Read); e != wasi.ESUCCESS {
		return "", e
	}
	if p.info == nil || p.info.Mode()&fs.ModeSymlink == 0 {
		return "", wasi.EINVAL
	}
	target, err := p.parent().root.Readlink(p.name)
	if err != nil {
		return "", system.Errno(err)
	}
	return t.paths.targetForGuest(target), wasi.ESUCCESS
}
