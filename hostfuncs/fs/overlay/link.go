package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Symlink implements wasi.Tree. The rules for link targets are those of the tree.
func (o *Overlay) Symlink(target, name string) wasi.Errno {
	s, e := o.view.find(name, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.view.vacant(&s, jail.Write); e != wasi.ESUCCESS {
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
	case !o.view.stays(target, &s):
		return wasi.EPERM
	}
	return o.changes.makeLink(&s, target, 0)
}

// Readlink implements wasi.Tree.
func (o *Overlay) Readlink(name string) (string, wasi.Errno) { return o.view.readlink(name) }

// Link implements wasi.Tree.
func (o *Overlay) Link(from, to string, follow bool) wasi.Errno {
	a, e := o.view.find(from, follow, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.view.mayLink(&a); e != wasi.ESUCCESS {
		return e
	}
	b, e := o.view.find(to, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.view.vacant(&b, jail.Write); e != wasi.ESUCCESS {
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
	in := o.files.at(&a)
	if e := in.attach(); e != wasi.ESUCCESS {
		return e
	}
	return o.changes.put(&node{kind: file, at: b.Spot, was: b.was(), file: in, sure: b.was() == nil})
}

// copyLink creates the same link at a different place, if it is allowed there.
func (o *Overlay) copyLink(a, b *spot) wasi.Errno {
	target, e := o.view.readlink(a.Guest)
	if e != wasi.ESUCCESS {
		return e
	}
	if !o.view.stays(target, b) {
		return wasi.EPERM
	}
	return o.changes.makeLink(b, target, a.since())
}
