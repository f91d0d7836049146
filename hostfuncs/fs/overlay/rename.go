package overlay

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// maxMoved is the maximum number of entries, at all depths, of a folder that is moved: each is decided on and becomes
// its own change. A larger folder returns EXDEV, and programs then move entry by entry.
const maxMoved = 5_000

// Rename implements wasi.Tree.
func (o *Overlay) Rename(from, to string) wasi.Errno {
	a, e := o.change(from)
	if e != wasi.ESUCCESS {
		return e
	}
	if dots(to) {
		return wasi.EINVAL
	}
	b, e := o.find(to, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.mayRename(&a, &b); e != wasi.ESUCCESS {
		return e
	}
	switch {
	case o.key(a.Real) == o.key(b.Real):
		return wasi.ESUCCESS
	case o.sameFile(&a, &b):
		return wasi.ESUCCESS
	case o.direct(a.Host) != o.direct(b.Host):
		return wasi.EXDEV
	case o.direct(a.Host):
		return o.lower.Rename(a.Guest, b.Guest)
	case !a.isDir():
		return o.move(&a, &b)
	}
	return o.moveFolder(&a, &b)
}

// sameFile reports whether both places are names of one file, for which a rename does nothing.
func (o *Overlay) sameFile(a, b *spot) bool {
	if a.node != nil && b.node != nil {
		return a.node.file != nil && a.node.file == b.node.file
	}
	return a.node == nil && b.node == nil && a.Info != nil && b.Info != nil && os.SameFile(a.Info, b.Info)
}

func (o *Overlay) mayRename(a, b *spot) wasi.Errno {
	if e := o.lower.Permit(jail.Read, a.Host, a.isDir()); e != wasi.ESUCCESS {
		return e
	}
	if e := o.mayReplace(a, b); e != wasi.ESUCCESS {
		return e
	}
	if a.isDir() && a.Guest != b.Guest && strings.HasPrefix(b.Guest, a.Guest+"/") {
		return wasi.EINVAL
	}
	return wasi.ESUCCESS
}

// mayReplace decides on the new path: vacant, or with an object that may be replaced.
func (o *Overlay) mayReplace(a, b *spot) wasi.Errno {
	if !b.there() {
		if b.Real != "" && b.Fixed {
			return wasi.EBUSY
		}
		e := o.mayMake(b, jail.Write)
		if e == wasi.ESUCCESS && b.Slash && !a.isDir() {
			e = wasi.ENOTDIR
		}
		return e
	}
	if e := o.see(b, jail.Write); e != wasi.ESUCCESS {
		return e
	}
	if e := o.mayChange(b); e != wasi.ESUCCESS {
		return e
	}
	switch {
	case b.isDir() && !a.isDir():
		return wasi.EISDIR
	case !b.isDir() && a.isDir():
		return wasi.ENOTDIR
	}
	return wasi.ESUCCESS
}

// move renames a file or a link.
func (o *Overlay) move(a, b *spot) wasi.Errno {
	if a.isLink() {
		if e := o.copyLink(a, b); e != wasi.ESUCCESS {
			return e
		}
		return o.remove(a)
	}
	if !a.regular() {
		return wasi.EPERM
	}
	in := o.inodeOf(a)
	if e := o.put(&node{kind: file, at: b.Spot, was: b.was(), file: in, sure: b.was() == nil && in.lower == ""}); e != wasi.ESUCCESS {
		return e
	}
	return o.remove(a)
}

// step is one entry of a folder that moves.
type step struct {
	from, to spot
	since    int64 // time of its last change
}

// moveFolder moves a folder with its entries. All are decided on before the first one moves.
func (o *Overlay) moveFolder(a, b *spot) wasi.Errno {
	if b.there() {
		names, e := o.names(b)
		if e != wasi.ESUCCESS || len(names) > 0 {
			return max(e, wasi.ENOTEMPTY)
		}
	}
	steps, e := o.plan(nil, a, b)
	if e != wasi.ESUCCESS {
		return e
	}
	if int64(len(o.nodes)+2*len(steps)+2) > o.o.Files {
		return wasi.EXDEV
	}
	all := append([]step{{*a, *b, a.since()}}, steps...)
	for _, s := range all {
		s.to.node = o.at(s.to.Real)
		if s.from.isDir() {
			e = o.makeDir(&s.to)
		} else {
			e = o.move(&s.from, &s.to)
		}
		if e != wasi.ESUCCESS {
			return e
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i].from; s.isDir() {
			_ = o.remove(&s)
		}
	}
	for _, s := range all {
		if n := o.at(s.to.Real); n != nil && n.kind == folder {
			n.since = s.since
		}
	}
	o.follow(a, b)
	return o.remove(a)
}

// plan lists the entries of a folder, folders before their content, and decides on each.
func (o *Overlay) plan(steps []step, a, b *spot) ([]step, wasi.Errno) {
	names, e := o.names(a)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	for _, name := range names {
		if len(steps) >= maxMoved {
			return nil, wasi.EXDEV
		}
		from, e := o.find(path.Join(a.Guest, name), false, jail.Write)
		if e != wasi.ESUCCESS {
			return nil, wasi.EACCES // the guest may not be allowed to see it
		}
		to := spot{Spot: b.child(name)}
		if e := o.mayMove(&from, &to); e != wasi.ESUCCESS {
			return nil, e
		}
		if to.node = o.at(to.Real); to.node != nil {
			to.Info = to.node.was
		}
		steps = append(steps, step{from, to, from.since()})
		if from.isDir() {
			if steps, e = o.plan(steps, &from, &to); e != wasi.ESUCCESS {
				return nil, e
			}
		}
	}
	return steps, wasi.ESUCCESS
}

func (o *Overlay) mayMove(from, to *spot) wasi.Errno {
	dir := from.isDir()
	for _, e := range []wasi.Errno{
		o.lower.Permit(jail.Read, from.Host, dir), o.lower.Permit(jail.Write, from.Host, dir), o.lower.Permit(jail.Write, to.Host, dir),
	} {
		if e != wasi.ESUCCESS {
			return wasi.EACCES
		}
	}
	switch {
	case from.Fixed:
		return wasi.EBUSY
	case from.isLink():
		target, e := o.Readlink(from.Guest)
		if e == wasi.ESUCCESS && !o.lower.LinkStays(target, to.Guest) {
			e = wasi.EPERM
		}
		return e
	case !dir && !from.regular():
		return wasi.EXDEV
	}
	return wasi.ESUCCESS
}

// follow updates the paths of the open folders at and below a renamed path.
func (o *Overlay) follow(a, b *spot) {
	for d := range o.dirs {
		rest, ok := strings.CutPrefix(d.at.Guest+"/", a.Guest+"/")
		if !ok {
			continue
		}
		d.at.Guest = path.Join(b.Guest, rest)
		d.at.Host = filepath.Join(b.Host, filepath.FromSlash(rest))
		d.at.Real = filepath.Join(b.Real, filepath.FromSlash(rest))
		if d.lower != nil { // its entries are nodes of the call now
			_ = d.lower.Close()
			d.lower, d.begun = nil, false
		}
	}
}
