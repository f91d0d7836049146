package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Stat implements wasi.Tree.
func (o *Overlay) Stat(name string, follow bool) (wasi.Stat, wasi.Errno) {
	return o.view.stat(name, follow)
}

// Mkdir implements wasi.Tree.
func (o *Overlay) Mkdir(name string) wasi.Errno {
	s, e := o.view.find(name, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.view.vacant(&s, jail.Make); e != wasi.ESUCCESS {
		return e
	}
	if o.direct(s.Host) {
		return o.lower.Mkdir(s.Guest)
	}
	return o.changes.makeDir(&s)
}

// Unlink implements wasi.Tree.
func (o *Overlay) Unlink(name string) wasi.Errno {
	s, e := o.view.changeable(name)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case s.isDir():
		return wasi.EISDIR
	case s.node == nil && o.direct(s.Host):
		return o.lower.Unlink(s.Guest)
	}
	return o.changes.remove(&s)
}

// Rmdir implements wasi.Tree.
func (o *Overlay) Rmdir(name string) wasi.Errno {
	s, e := o.view.changeable(name)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case !s.isDir():
		return wasi.ENOTDIR
	case s.node == nil && o.direct(s.Host):
		return o.lower.Rmdir(s.Guest)
	}
	names, e := o.view.names(&s)
	if e != wasi.ESUCCESS {
		return e
	}
	if len(names) > 0 {
		return wasi.ENOTEMPTY
	}
	return o.changes.remove(&s)
}

// Chtimes implements wasi.Tree.
func (o *Overlay) Chtimes(name string, t wasi.Times, follow bool) wasi.Errno {
	s, e := o.view.find(name, follow, jail.Write)
	if e == wasi.ESUCCESS {
		e = o.view.see(&s, jail.Write)
	}
	if e != wasi.ESUCCESS {
		return e
	}
	if s.Real == "" {
		return wasi.EROFS
	}
	if e := o.lower.Permit(jail.Write, s.Host, s.isDir()); e != wasi.ESUCCESS {
		return e
	}
	switch {
	case s.node == nil && o.direct(s.Host):
		return o.lower.Chtimes(s.Guest, t, false)
	case s.node != nil && s.node.kind != file:
		s.node.times = merge(s.node.times, t)
		return wasi.ESUCCESS
	case s.isDir():
		return o.changes.put(&node{kind: touched, at: s.Spot, was: s.Info, times: merge(wasi.Times{}, t)})
	case !s.regular():
		return wasi.ENOTSUP // a link of the host keeps its times
	}
	in := o.files.at(&s)
	if e := in.attach(); e != wasi.ESUCCESS {
		return e
	}
	in.times = merge(in.times, t)
	return wasi.ESUCCESS
}
