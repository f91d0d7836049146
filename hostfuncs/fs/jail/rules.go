package jail

import (
	"io/fs"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// rules decide on the operations of a call at resolved places. They record each denial.
type rules struct {
	mounts *mountTable
	access *access
	paths  *resolver
}

// changeable walks to a path and decides on a write there. The object must be visible and no mount. EINVAL is returned
// for a path that ends in "." or "..", which names no entry of a folder.
func (r *rules) changeable(path string) (*place, wasi.Errno) {
	if EndsInDots(path) {
		return nil, wasi.EINVAL
	}
	p, e := r.paths.walk(path, false, Write)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	if e = r.access.see(p, Write); e == wasi.ESUCCESS {
		e = r.mayChange(p)
	}
	if e != wasi.ESUCCESS {
		p.close()
		return nil, e
	}
	return p, wasi.ESUCCESS
}

// mayChange decides on changing, moving or removing the object at a place.
func (r *rules) mayChange(p *place) wasi.Errno {
	switch {
	case p.synthetic():
		return wasi.EROFS
	case p.name == "" || r.mounts.busy(p):
		return wasi.EBUSY
	}
	return r.access.allow(Write, p.host, p.isDir())
}

// mayMake decides on creating an object at a vacant place.
func (r *rules) mayMake(p *place) wasi.Errno {
	if p.parent().root == nil {
		_ = r.access.refuse(Write, p.host)
		return wasi.EROFS
	}
	return r.access.allow(Write, p.host, false)
}

// mayName decides on giving a name to an object that may be or contain a link: EBUSY at the path of a present or
// future mount.
func (r *rules) mayName(p *place) wasi.Errno {
	if e := r.mayMake(p); e != wasi.ESUCCESS {
		return e
	}
	if r.mounts.busy(p) {
		return wasi.EBUSY
	}
	return wasi.ESUCCESS
}

// vacant decides on creating an object at a place, by calling may. EEXIST is returned if an object is there.
func (r *rules) vacant(p *place, may func(*place) wasi.Errno) wasi.Errno {
	if p.name == "" {
		return wasi.EEXIST
	}
	if p.info != nil {
		if e := r.access.see(p, Write); e != wasi.ESUCCESS {
			return e
		}
		return wasi.EEXIST
	}
	return may(p)
}

// mayOpen decides on the access modes of an open. Reading is included unless the file is opened only for writing.
func (r *rules) mayOpen(p *place, o wasi.OpenOptions) wasi.Errno {
	if o.Write || o.Truncate {
		if e := r.access.allow(Write, p.host, false); e != wasi.ESUCCESS {
			return e
		}
	}
	if o.Read || !o.Write {
		return r.access.allow(Read, p.host, false)
	}
	return wasi.ESUCCESS
}

// mayCreate decides on creating and opening a file at a vacant place.
func (r *rules) mayCreate(p *place, o wasi.OpenOptions) wasi.Errno {
	if e := r.mayMake(p); e != wasi.ESUCCESS {
		return e
	}
	if p.mustDir {
		return wasi.EISDIR
	}
	return r.mayOpen(p, o)
}

// mayLink decides on a second name for the object at a place.
func (r *rules) mayLink(p *place) wasi.Errno {
	if e := r.access.see(p, Write); e != wasi.ESUCCESS {
		return e
	}
	if p.isDir() || p.info.Mode()&^fs.ModePerm&^fs.ModeSymlink != 0 {
		return wasi.EPERM
	}
	if e := r.access.allow(Read, p.host, false); e != wasi.ESUCCESS {
		return e
	}
	return r.access.allow(Write, p.host, false)
}
