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
	if !op.Changes() && len(o.nodes) == 0 {
		f, e := o.lower.Open(path, opt)
		if e != wasi.ESUCCESS {
			return nil, e
		}
		return o.wrap(f, opt), wasi.ESUCCESS
	}
	exclusive := opt.Create && opt.Exclusive
	s, e := o.find(path, !opt.NoFollow && !exclusive, op)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	if !s.there() && opt.Create {
		return o.create(&s, opt)
	}
	if e := o.see(&s, op); e != wasi.ESUCCESS {
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
	in := o.inodeOf(&s)
	in.opens++
	return &handle{in: in, guest: s.Guest, lower: f, read: opt.Read}
}

func (o *Overlay) openFile(s *spot, opt wasi.OpenOptions) (wasi.File, wasi.Errno) {
	if s.node == nil && (!opt.Write || o.direct(s.Host)) {
		f, e := o.lower.Open(s.Guest, opt)
		if e != wasi.ESUCCESS || opt.Write {
			return f, e
		}
		return o.wrap(f, opt), wasi.ESUCCESS
	}
	if e := o.allowAccess(s, opt); e != wasi.ESUCCESS {
		return nil, e
	}
	if !s.regular() {
		return nil, wasi.EACCES
	}
	in := o.inodeOf(s)
	if opt.Truncate {
		if e := in.truncate(0); e != wasi.ESUCCESS {
			return nil, e
		}
	}
	in.opens++
	return &handle{in: in, guest: s.Guest, read: opt.Read, write: opt.Write}, wasi.ESUCCESS
}

// allowAccess decides on the access modes of an open. Reading is included unless the file is opened only for writing.
func (o *Overlay) allowAccess(s *spot, opt wasi.OpenOptions) wasi.Errno {
	if opt.Write || opt.Truncate {
		if e := o.lower.Permit(jail.Write, s.Host, false); e != wasi.ESUCCESS {
			return e
		}
	}
	if opt.Read || !opt.Write {
		return o.lower.Permit(jail.Read, s.Host, false)
	}
	return wasi.ESUCCESS
}

// create creates a file at a vacant place.
func (o *Overlay) create(s *spot, opt wasi.OpenOptions) (wasi.File, wasi.Errno) {
	if e := o.mayMake(s, jail.Write); e != wasi.ESUCCESS {
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
	in := &inode{o: o, at: s.Spot, ino: o.number()}
	n := &node{kind: file, at: s.Spot, was: s.was(), file: in, sure: opt.Exclusive && s.was() == nil}
	if e := o.put(n); e != wasi.ESUCCESS {
		return nil, e
	}
	if _, e := in.own(0); e != wasi.ESUCCESS {
		return nil, e
	}
	in.opens++
	return &handle{in: in, guest: s.Guest, read: opt.Read, write: opt.Write}, wasi.ESUCCESS
}
