package overlay

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// dir is an open folder: the entries of the host, merged with the changes of the call.
type dir struct {
	o     *Overlay
	at    spot
	lower wasi.File // nil for a folder created by the call
	own   []wasi.DirEntry
	begun bool // own is filled
}

var _ wasi.File = (*dir)(nil)

func (o *Overlay) openDir(s *spot) (wasi.File, wasi.Errno) {
	if s.node != nil && s.node.kind == folder {
		return o.newDir(s, nil), wasi.ESUCCESS
	}
	f, e := o.lower.Open(s.Guest, wasi.OpenOptions{Read: true, Directory: true})
	if e != wasi.ESUCCESS {
		return nil, e
	}
	return o.newDir(s, f), wasi.ESUCCESS
}

func (o *Overlay) newDir(s *spot, lower wasi.File) *dir {
	d := &dir{o: o, at: *s, lower: lower}
	o.dirs[d] = struct{}{}
	return d
}

// Path returns the guest path of the folder, after the renames of this call.
func (d *dir) Path() string { return d.at.Guest }

// Stat describes the folder.
func (d *dir) Stat() (wasi.Stat, wasi.Errno) {
	if n := d.o.at(d.at.Real); d.lower == nil && n != nil && n.kind == folder {
		return n.stat(), wasi.ESUCCESS
	} else if d.lower != nil {
		st, e := d.lower.Stat()
		if n != nil && n.kind == touched {
			st = withTimes(st, n.times)
		}
		return st, e
	}
	return wasi.Stat{Type: wasi.TypeDirectory}, wasi.ESUCCESS // removed while it is open
}

// ReadDir lists the remaining entries of the host, then those of the call.
func (d *dir) ReadDir(n int) ([]wasi.DirEntry, wasi.Errno) {
	if !d.begun {
		if d.at.Real != "" && d.o.o.Lists != nil && !d.o.o.Lists(d.at.Host) {
			return nil, wasi.EACCES
		}
		d.begun, d.own = true, d.o.entries(d.at.Real)
	}
	for d.lower != nil {
		list, e := d.lower.ReadDir(n)
		if e != wasi.ESUCCESS || len(list) == 0 {
			if e != wasi.ESUCCESS {
				return nil, e
			}
			break
		}
		if list = d.filter(list); len(list) > 0 {
			return list, wasi.ESUCCESS
		}
	}
	part := d.own[:min(n, len(d.own))]
	d.own = d.own[len(part):]
	return part, wasi.ESUCCESS
}

// filter removes the entries that the call replaced, and temporaries of landings.
func (d *dir) filter(list []wasi.DirEntry) []wasi.DirEntry {
	return slices.DeleteFunc(list, func(e wasi.DirEntry) bool {
		if strings.HasPrefix(e.Name, commit.Prefix) {
			return true
		}
		if d.at.Real == "" || len(d.o.nodes) == 0 {
			return false
		}
		n := d.o.at(filepath.Join(d.at.Real, e.Name))
		return n != nil && n.kind != touched
	})
}

// entries lists the entries of a folder that the call created or replaced.
func (o *Overlay) entries(real string) []wasi.DirEntry {
	at := o.key(real)
	if real == "" || o.below[at] == 0 {
		return nil
	}
	var list []wasi.DirEntry
	for k, n := range o.nodes {
		if n.kind == gone || n.kind == touched || filepath.Dir(k) != at {
			continue
		}
		st := n.stat()
		if o.lower.Shows(n.at.Host, n.isDir()) {
			list = append(list, wasi.DirEntry{Name: path.Base(n.at.Guest), Type: st.Type, Ino: st.Ino})
		}
	}
	slices.SortFunc(list, func(a, b wasi.DirEntry) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// stat describes an existing node.
func (n *node) stat() wasi.Stat {
	switch n.kind {
	case file:
		st, _ := n.file.stat()
		st.Nlink = max(1, uint64(n.file.names))
		return st
	case link:
		return n.dated(wasi.Stat{Type: wasi.TypeSymlink, Size: int64(len(n.target))})
	}
	return n.dated(wasi.Stat{Type: wasi.TypeDirectory})
}

// dated sets the inode and the times of a new folder or link.
func (n *node) dated(st wasi.Stat) wasi.Stat {
	st.Ino, st.Nlink = n.ino, 1
	st.Atime, st.Mtime, st.Ctime = n.since, n.since, n.since
	return withTimes(st, n.times)
}

// Rewind restarts ReadDir.
func (d *dir) Rewind() wasi.Errno {
	d.begun = false
	if d.lower == nil {
		return wasi.ESUCCESS
	}
	return d.lower.Rewind()
}

// Sync does nothing.
func (d *dir) Sync() wasi.Errno { return wasi.ESUCCESS }

// Chtimes sets the times of the folder.
func (d *dir) Chtimes(t wasi.Times) wasi.Errno { return d.o.Chtimes(d.at.Guest, t, true) }

// Close closes the folder.
func (d *dir) Close() wasi.Errno {
	delete(d.o.dirs, d)
	if d.lower == nil {
		return wasi.ESUCCESS
	}
	return d.lower.Close()
}

// ReadAt returns EISDIR.
func (d *dir) ReadAt([]byte, int64) (int, wasi.Errno) { return 0, wasi.EISDIR }

// WriteAt returns EISDIR.
func (d *dir) WriteAt([]byte, int64) (int, wasi.Errno) { return 0, wasi.EISDIR }

// Append returns EISDIR.
func (d *dir) Append([]byte) (int, wasi.Errno) { return 0, wasi.EISDIR }

// Truncate returns EISDIR.
func (d *dir) Truncate(int64) wasi.Errno { return wasi.EISDIR }
