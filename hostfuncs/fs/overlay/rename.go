package overlay

import (
	"path"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// maxMoved is the maximum number of entries, at all depths, of a folder that is moved: each is decided on and becomes
// its own change. A larger folder returns EXDEV, and programs then move entry by entry.
const maxMoved = 5_000

// Rename implements wasi.Tree.
func (o *Overlay) Rename(from, to string) wasi.Errno {
	a, e := o.view.changeable(from)
	if e != wasi.ESUCCESS {
		return e
	}
	if jail.EndsInDots(to) {
		return wasi.EINVAL
	}
	b, e := o.view.find(to, false, jail.Write)
	if e != wasi.ESUCCESS {
		return e
	}
	if e := o.view.mayRename(&a, &b); e != wasi.ESUCCESS {
		return e
	}
	switch {
	case o.changes.key(a.Real) == o.changes.key(b.Real):
		return wasi.ESUCCESS
	case sameFile(&a, &b):
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

// move renames a file or a link.
func (o *Overlay) move(a, b *spot) wasi.Errno {
	if a.isLink() {
		if e := o.copyLink(a, b); e != wasi.ESUCCESS {
			return e
		}
		return o.changes.remove(a)
	}
	if !a.regular() {
		return wasi.EPERM
	}
	in := o.files.at(a)
	if e := o.changes.put(&node{kind: file, at: b.Spot, was: b.was(), file: in, sure: b.was() == nil && in.lower == ""}); e != wasi.ESUCCESS {
		return e
	}
	return o.changes.remove(a)
}

// step is one entry of a folder that moves.
type step struct {
	from, to spot
	since    int64 // time of its last change
}

// moveFolder moves a folder with its entries. All are decided on before the first one moves.
func (o *Overlay) moveFolder(a, b *spot) wasi.Errno {
	if b.there() {
		names, e := o.view.names(b)
		if e != wasi.ESUCCESS || len(names) > 0 {
			return max(e, wasi.ENOTEMPTY)
		}
	}
	steps, e := o.view.plan(nil, a, b)
	if e != wasi.ESUCCESS {
		return e
	}
	if int64(len(o.changes.nodes)+2*len(steps)+2) > o.changes.budget.files {
		return wasi.EXDEV
	}
	all := append([]step{{*a, *b, a.since()}}, steps...)
	for _, s := range all {
		s.to.node = o.changes.at(s.to.Real)
		if s.from.isDir() {
			e = o.changes.makeDir(&s.to)
		} else {
			e = o.move(&s.from, &s.to)
		}
		if e != wasi.ESUCCESS {
			return e
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i].from; s.isDir() {
			_ = o.changes.remove(&s)
		}
	}
	for _, s := range all {
		if n := o.changes.at(s.to.Real); n != nil && n.kind == folder {
			n.since = s.since
		}
	}
	o.folders.follow(a, b)
	return o.changes.remove(a)
}

// mayRename decides on both paths of a rename.
func (v *view) mayRename(a, b *spot) wasi.Errno {
	if e := v.lower.Permit(jail.Read, a.Host, a.isDir()); e != wasi.ESUCCESS {
		return e
	}
	if e := v.mayReplace(a, b); e != wasi.ESUCCESS {
		return e
	}
	if a.isDir() && a.Guest != b.Guest && strings.HasPrefix(b.Guest, a.Guest+"/") {
		return wasi.EINVAL
	}
	return wasi.ESUCCESS
}

// mayReplace decides on the new path: vacant, or with an object that may be replaced.
func (v *view) mayReplace(a, b *spot) wasi.Errno {
	if !b.there() {
		if b.Real != "" && b.Fixed {
			return wasi.EBUSY
		}
		e := v.mayMake(b, jail.Write)
		if e == wasi.ESUCCESS && b.Slash && !a.isDir() {
			e = wasi.ENOTDIR
		}
		return e
	}
	if e := v.see(b, jail.Write); e != wasi.ESUCCESS {
		return e
	}
	if e := v.mayChange(b); e != wasi.ESUCCESS {
		return e
	}
	return jail.MayReplace(b.isDir(), a.isDir())
}

// plan lists the entries of a folder, folders before their content, and decides on each.
func (v *view) plan(steps []step, a, b *spot) ([]step, wasi.Errno) {
	names, e := v.names(a)
	if e != wasi.ESUCCESS {
		return nil, e
	}
	for _, name := range names {
		if len(steps) >= maxMoved {
			return nil, wasi.EXDEV
		}
		from, e := v.find(path.Join(a.Guest, name), false, jail.Write)
		if e != wasi.ESUCCESS {
			return nil, wasi.EACCES // the guest may not be allowed to see it
		}
		to := spot{Spot: b.child(name)}
		if e := v.mayMove(&from, &to); e != wasi.ESUCCESS {
			return nil, e
		}
		if to.node = v.changes.at(to.Real); to.node != nil {
			to.Info = to.node.was
		}
		steps = append(steps, step{from, to, from.since()})
		if from.isDir() {
			if steps, e = v.plan(steps, &from, &to); e != wasi.ESUCCESS {
				return nil, e
			}
		}
	}
	return steps, wasi.ESUCCESS
}

// mayMove decides on one entry of a folder that moves.
func (v *view) mayMove(from, to *spot) wasi.Errno {
	dir := from.isDir()
	for _, e := range []wasi.Errno{
		v.lower.Permit(jail.Read, from.Host, dir), v.lower.Permit(jail.Write, from.Host, dir), v.lower.Permit(jail.Write, to.Host, dir),
	} {
		if e != wasi.ESUCCESS {
			return wasi.EACCES
		}
	}
	switch {
	case from.Fixed:
		return wasi.EBUSY
	case from.isLink():
		target, e := v.readlink(from.Guest)
		if e == wasi.ESUCCESS && !v.lower.LinkStays(target, to.Guest) {
			e = wasi.EPERM
		}
		return e
	case !dir && !from.regular():
		return wasi.EXDEV
	}
	return wasi.ESUCCESS
}
