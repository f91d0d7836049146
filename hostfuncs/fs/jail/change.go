package jail

import (
	"io/fs"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// change walks to a path and decides on a write there. The object must be visible and no mount. EINVAL is returned for
// a path that ends in "." or "..", which names no entry of a folder.
func (t *Tree) change(path string) (*place, wasi.Errno) {
	if dots(path) {
		return nil, wasi.EINVAL
	}
	p, e := t.walk(path, false, Write)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	if e = t.see(p, Write); e == wasi.ESUCCESS {
		e = t.mayChange(p)
	}
	if e != wasi.ESUCCESS {
		p.close()
		return nil, e
	}
	return p, wasi.ESUCCESS
}

func dots(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return last == "." || last == ".."
}

func (t *Tree) mayChange(p *place) wasi.Errno {
	switch {
	case p.synthetic():
		return wasi.EROFS
	case p.name == "" || t.busy(p):
		return wasi.EBUSY
	}
	return t.allow(Write, p.host, p.isDir())
}

// Mkdir implements wasi.Tree.
func (t *Tree) Mkdir(path string) wasi.Errno {
	p, e := t.walk(path, false, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if e := t.vacant(p, t.mayMake); e != wasi.ESUCCESS {
		return e
	}
	return system.Errno(p.parent().root.Mkdir(p.name, folderPerm))
}

// vacant decides on creating an object at a place, by calling may. EEXIST is returned if an object is there.
func (t *Tree) vacant(p *place, may func(*place) wasi.Errno) wasi.Errno {
	if p.name == "" {
		return wasi.EEXIST
	}
	if p.info != nil {
		if e := t.see(p, Write); e != wasi.ESUCCESS {
			return e
		}
		return wasi.EEXIST
	}
	return may(p)
}

// mayName decides on giving a name to an object that may be or contain a link: EBUSY at the path of a present or
// future mount.
func (t *Tree) mayName(p *place) wasi.Errno {
	if e := t.mayMake(p); e != wasi.ESUCCESS {
		return e
	}
	if t.busy(p) {
		return wasi.EBUSY
	}
	return wasi.ESUCCESS
}

// Unlink implements wasi.Tree.
func (t *Tree) Unlink(path string) wasi.Errno {
	p, e := t.change(path)
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
	p, e := t.change(path)
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
	p, e := t.walk(path, follow, Write)
	if e != wasi.ESUCCESS {
		return e
	}
	defer p.close()
	if e := t.see(p, Write); e != wasi.ESUCCESS {
		return e
	}
	if p.synthetic() {
		return wasi.EROFS
	}
	if e := t.allow(Write, p.host, p.isDir()); e != wasi.ESUCCESS {
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
	p, e := t.walk(path, false, Read)
	if e != wasi.ESUCCESS {
		return "", e
	}
	defer p.close()
	if e := t.see(p, Read); e != wasi.ESUCCESS {
		return "", e
	}
	if p.info == nil || p.info.Mode()&fs.ModeSymlink == 0 {
		return "", wasi.EINVAL
	}
	target, err := p.parent().root.Readlink(p.name)
	if err != nil {
		return "", system.Errno(err)
	}
	return t.targetForGuest(target), wasi.ESUCCESS
}
