package overlay

import (
	"path"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// see decides whether the guest may see the object at a place, and records a denial.
func (v *view) see(s *spot, op jail.Op) wasi.Errno {
	if s.Real == "" || s.isDir() && s.Info == nil && s.node == nil {
		return wasi.ESUCCESS // the walk passed through it
	}
	if !v.lower.Shows(s.Host, s.isDir()) {
		_ = v.lower.Permit(op, s.Host, s.isDir())
		return wasi.ENOENT
	}
	if !s.there() {
		return wasi.ENOENT
	}
	return wasi.ESUCCESS
}

// mayMake decides on creating an object at a vacant place, with jail.Write or, for a folder, jail.Make.
func (v *view) mayMake(s *spot, op jail.Op) wasi.Errno {
	if s.Real == "" {
		_ = v.lower.Permit(op, s.Host, false)
		return wasi.EROFS
	}
	if e := checkName(path.Base(s.Guest)); e != wasi.ESUCCESS {
		return e
	}
	return v.lower.Permit(op, s.Host, false)
}

// mayChange decides on changing or removing the object at a place.
func (v *view) mayChange(s *spot) wasi.Errno {
	switch {
	case s.Real == "":
		return wasi.EROFS
	case s.Fixed:
		return wasi.EBUSY
	}
	return v.lower.Permit(jail.Write, s.Host, s.isDir())
}

// vacant decides on creating an object at a place. EEXIST is returned if an object is there.
func (v *view) vacant(s *spot, op jail.Op) wasi.Errno {
	if s.there() {
		if e := v.see(s, jail.Write); e != wasi.ESUCCESS {
			return e
		}
		return wasi.EEXIST
	}
	return v.mayMake(s, op)
}

// changeable resolves a path and decides on removing or moving the object there.
func (v *view) changeable(name string) (spot, wasi.Errno) {
	if jail.EndsInDots(name) {
		return spot{}, wasi.EINVAL
	}
	s, e := v.find(name, false, jail.Write)
	if e == wasi.ESUCCESS {
		e = v.see(&s, jail.Write)
	}
	if e == wasi.ESUCCESS {
		e = v.mayChange(&s)
	}
	return s, e
}

// mayOpen decides on the access modes of an open. Reading is included unless the file is opened only for writing.
func (v *view) mayOpen(s *spot, opt wasi.OpenOptions) wasi.Errno {
	if opt.Write || opt.Truncate {
		if e := v.lower.Permit(jail.Write, s.Host, false); e != wasi.ESUCCESS {
			return e
		}
	}
	if opt.Read || !opt.Write {
		return v.lower.Permit(jail.Read, s.Host, false)
	}
	return wasi.ESUCCESS
}

// mayLink decides on a second name for the object at a place.
func (v *view) mayLink(s *spot) wasi.Errno {
	if e := v.see(s, jail.Write); e != wasi.ESUCCESS {
		return e
	}
	if s.Real == "" && !s.isDir() {
		_ = v.lower.Permit(jail.Write, s.Host, false)
		return wasi.ENOENT // as for any path that is not granted
	}
	if !s.regular() && !s.isLink() || s.Real == "" {
		return wasi.EPERM
	}
	if e := v.lower.Permit(jail.Read, s.Host, false); e != wasi.ESUCCESS {
		return e
	}
	return v.lower.Permit(jail.Write, s.Host, false)
}

// stays reports whether a link with that target may be created at a place.
func (v *view) stays(target string, at *spot) bool {
	inside := v.lower.LinkStays(target, at.Guest)
	if !inside && v.linksOut != nil {
		v.linksOut(at.Host, target)
	}
	return inside
}
