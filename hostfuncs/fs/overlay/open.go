package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Open implements wasi.Tree.
func (o *Overlay) Open(path string, opt wasi.OpenOptions) (wasi.File, wasi.Errno) {
	op := jail.Read
	if opt.Write || opt.Create || opt.Truncate {
		op = jail.Write
	} else if opt.Directory {
		op = jail.List
	}
	if !op.Changes() && o.changes.empty() {
		f, e := o.lower.Open(path, opt)
		if e != wasi.ESUCCESS {
			return nil, e
		}
		return o.wrap(f, opt), wasi.ESUCCESS
	}
	exclusive := opt.Create && opt.Exclusive
	s, e := o.view.find(path, !opt.NoFollow && !exclusive, op)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	if !s.there() && opt.Create {
		return o.create(&s, opt)
	}
	if e := o.view.see(&s, op); e != wasi.ESUCCESS {
		return nil, e
	}
	switch {
	case exclusive:
		return nil, wasi.EEXIST
	case s.isDir() && opt.Write:
		return nil, wasi.EISDIR
	case s.isDir():
		return o.openDir(&s)
	case s.isLink():
		return nil, wasi.ELOOP
	case opt.Directory:
		return nil, wasi.ENOTDIR
	}
	return o.openFile(&s, opt)
}

// wrap converts a file or folder opened by the tree to one of the overlay.
func (o *Overlay) wrap(f wasi.File, opt wasi.OpenOptions) wasi.File {
	at, ok := f.(jail.Opened)
	if !ok {
		return f
	}
	s := spot{Spot: at.Spot()}
	if s.Dir {
		return o.newDir(&s, f)
	}
	h := o.files.at(&s).handle(s.Guest, wasi.OpenOptions{Read: opt.Read})
	h.lower = f
	return h
}

func (o *Overlay) openFile(s *spot, opt wasi.OpenOptions) (wasi.File, wasi.Errno) {
	if s.node == nil && (!opt.Write || o.direct(s.Host)) {
		f, e := o.lower.Open(s.Guest, opt)
		if e != wasi.ESUCCESS || opt.Write {
			return f, e
		}
		return o.wrap(f, opt), wasi.ESUCCESS
	}
	if e := o.view.mayOpen(s, opt); e != wasi.ESUCCESS {
		return nil, e
	}
	if !s.regular() {
		return nil, wasi.EACCES
	}
	in := o.files.at(s)
	if opt.Truncate {
		if e := in.truncate(0); e != wasi.ESUCCESS {
			return nil, e
		}
	}
	return in.handle(s.Guest, opt), wasi.ESUCCESS
}

// create creates a file at a vacant place.
func (o *Overlay) create(s *spot, opt wasi.OpenOptions) (wasi.File, wasi.Errno) {
	if e := o.view.mayMake(s, jail.Write); e != wasi.ESUCCESS {
		return nil, e
	}
	if s.Slash {
		return nil, wasi.EISDIR
	}
	if opt.Read {
		if e := o.lower.Permit(jail.Read, s.Host, false); e != wasi.ESUCCESS {
			return nil, e
		}
	}
	if o.direct(s.Host) {
		return o.lower.Open(s.Guest, opt)
	}
	in, e := o.files.create(s, opt.Exclusive)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	return in.handle(s.Guest, opt), wasi.ESUCCESS
}
