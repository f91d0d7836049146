package overlay

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Stat implements wasi.Tree.
func (o *Overlay) Stat(name string, follow bool) (wasi.Stat, wasi.Errno) {
	if len(o.nodes) == 0 {
		return o.lower.Stat(name, follow)
	}
	s, e := o.find(name, follow, jail.Read)
	if e == wasi.ESUCCESS {
		e = o.see(&s, jail.Read)
	}
	if e != wasi.ESUCCESS {
		return wasi.Stat{}, e
	}
	if s.node == nil || s.node.kind == touched {
		st, e := o.lower.Stat(s.Guest, false)
		if s.node != nil {
			st = withTimes(st, s.node.times)
		}
		return st, e
	}
	return s.node.stat(), wasi.ESUCCESS
}

// Mkdir implements wasi.Tree.
func (o *Overlay) Mkdir(name string) wasi.Errno {
	s, e := o.find(name, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.vacant(&s, jail.Make); e != wasi.ESUCCESS {
		return e
	}
	if o.direct(s.Host) {
		return o.lower.Mkdir(s.Guest)
	}
	return o.makeDir(&s)
}

// makeDir creates a folder. If the host has a folder at the place, which the call removed, it is restored as an empty
// one.
func (o *Overlay) makeDir(s *spot) wasi.Errno {
	if was := s.was(); was != nil && was.IsDir() {
		o.take(s.Real)
		return wasi.ESUCCESS
	}
	return o.put(&node{kind: folder, at: s.Spot, was: s.was(), ino: o.number(), sure: s.was() == nil})
}

// change walks to a path and decides on removing or moving the object there.
func (o *Overlay) change(name string) (spot, wasi.Errno) {
	if dots(name) {
		return spot{}, wasi.EINVAL
	}
	s, e := o.find(name, false, jail.Write)
	if e == wasi.ESUCCESS {
		e = o.see(&s, jail.Write)
	}
	if e == wasi.ESUCCESS {
		e = o.mayChange(&s)
	}
	return s, e
}

func dots(name string) bool {
	last := name[strings.LastIndexByte(name, '/')+1:]
	return last == "." || last == ".."
}

// Unlink implements wasi.Tree.
func (o *Overlay) Unlink(name string) wasi.Errno {
	s, e := o.change(name)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case s.isDir():
		return wasi.EISDIR
	case s.node == nil && o.direct(s.Host):
		return o.lower.Unlink(s.Guest)
	}
	return o.remove(&s)
}

// remove removes the object at a place.
func (o *Overlay) remove(s *spot) wasi.Errno {
	if s.was() == nil {
		o.take(s.Real)
		return wasi.ESUCCESS
	}
	return o.put(&node{kind: gone, at: s.Spot, was: s.was()})
}

// Rmdir implements wasi.Tree.
func (o *Overlay) Rmdir(name string) wasi.Errno {
	s, e := o.change(name)
	switch {
	case e != wasi.ESUCCESS:
		return e
	case !s.isDir():
		return wasi.ENOTDIR
	case s.node == nil && o.direct(s.Host):
		return o.lower.Rmdir(s.Guest)
	}
	names, e := o.names(&s)
	if e != wasi.ESUCCESS {
		return e
	}
	if len(names) > 0 {
		return wasi.ENOTEMPTY
	}
	return o.remove(&s)
}

// names lists a folder, including entries that the guest may not see: a folder that contains some is neither empty nor
// moved.
func (o *Overlay) names(s *spot) ([]string, wasi.Errno) {
	var names []string
	for _, e := range o.entries(s.Real) {
		names = append(names, e.Name)
	}
	if s.node != nil && s.node.kind == folder {
		return names, wasi.ESUCCESS
	}
	root, e := o.lower.Folder(s.Guest)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(filepath.Base(s.Real))
	if err != nil {
		return nil, wasi.EACCES
	}
	defer func() { _ = f.Close() }()
	host, err := f.Readdirnames(maxMoved + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, wasi.EIO
	}
	if len(host) > maxMoved {
		return nil, wasi.EXDEV
	}
	for _, name := range host {
		if n := o.at(filepath.Join(s.Real, name)); n == nil || n.kind == touched {
			names = append(names, name)
		}
	}
	return names, wasi.ESUCCESS
}

// Chtimes implements wasi.Tree.
func (o *Overlay) Chtimes(name string, t wasi.Times, follow bool) wasi.Errno {
	s, e := o.find(name, follow, jail.Write)
	if e == wasi.ESUCCESS {
		e = o.see(&s, jail.Write)
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
		return o.put(&node{kind: touched, at: s.Spot, was: s.Info, times: merge(wasi.Times{}, t)})
	case !s.regular():
		return wasi.ENOTSUP // a link of the host keeps its times
	}
	in := o.inodeOf(&s)
	if e := in.attach(); e != wasi.ESUCCESS {
		return e
	}
	in.times = merge(in.times, t)
	return wasi.ESUCCESS
}
