package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Symlink implements wasi.Tree. The rules for link targets are those of the tree.
func (o *Overlay) Symlink(target, name string) wasi.Errno {
	s, e := o.find(name, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.vacant(&s, jail.Write); e != wasi.ESUCCESS {
		return e
	}
	switch {
	case s.Fixed:
		return wasi.EBUSY
	case s.Slash:
		return wasi.ENOENT
	case o.direct(s.Host):
		return o.lower.Symlink(target, s.Guest)
	case target == "":
		return wasi.ENOENT
	case !o.stays(target, &s):
		return wasi.EPERM
	}
	return o.put(&node{kind: link, at: s.Spot, was: s.was(), target: target, ino: o.number(), sure: s.was() == nil})
}

// Readlink implements wasi.Tree.
func (o *Overlay) Readlink(name string) (string, wasi.Errno) {
	s, e := o.find(name, false, jail.Read)
	if e == wasi.ESUCCESS {
		e = o.see(&s, jail.Read)
	}
	switch {
	case e != wasi.ESUCCESS:
		return "", e
	case !s.isLink():
		return "", wasi.EINVAL
	case s.node != nil:
		return s.node.target, wasi.ESUCCESS
	}
	return o.lower.Readlink(s.Guest)
}

// Link implements wasi.Tree.
func (o *Overlay) Link(from, to string, follow bool) wasi.Errno {
	a, e := o.find(from, follow, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.mayLink(&a); e != wasi.ESUCCESS {
		return e
	}
	b, e := o.find(to, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.vacant(&b, jail.Write); e != wasi.ESUCCESS {
		return e
	}
	switch {
	case b.Fixed:
		return wasi.EBUSY
	case b.Slash:
		return wasi.ENOENT
	case o.direct(a.Host) != o.direct(b.Host):
		return wasi.EXDEV
	case o.direct(a.Host):
		return o.lower.Link(a.Guest, b.Guest, false)
	case a.isLink():
		return o.copyLink(&a, &b)
	}
	in := o.inodeOf(&a)
	if e := in.attach(); e != wasi.ESUCCESS {
		return e
	}
	return o.put(&node{kind: file, at: b.Spot, was: b.was(), file: in, sure: b.was() == nil})
}

func (o *Overlay) mayLink(s *spot) wasi.Errno {
	if e := o.see(s, jail.Write); e != wasi.ESUCCESS {
		return e
	}
	if s.Real == "" && !s.isDir() {
		_ = o.lower.Permit(jail.Write, s.Host, false)
		return wasi.ENOENT // as for any path that is not granted
	}
	if !s.regular() && !s.isLink() || s.Real == "" {
		return wasi.EPERM
	}
	if e := o.lower.Permit(jail.Read, s.Host, false); e != wasi.ESUCCESS {
		return e
	}
	return o.lower.Permit(jail.Write, s.Host, false)
}

// stays reports whether a link with that target may be created at a place.
func (o *Overlay) stays(target string, at *spot) bool {
	inside := o.lower.LinkStays(target, at.Guest)
	if !inside && o.o.LinksOut != nil {
		o.o.LinksOut(at.Host, target)
	}
	return inside
}

// copyLink creates the same link at a different place, if it is allowed there.
func (o *Overlay) copyLink(a, b *spot) wasi.Errno {
	target, e := o.Readlink(a.Guest)
	if e != wasi.ESUCCESS {
		return e
	}
	if !o.stays(target, b) {
		return wasi.EPERM
	}
	return o.put(&node{kind: link, at: b.Spot, was: b.was(), target: target, ino: o.number(), sure: b.was() == nil, since: a.since()})
}
