package overlay

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// folders are the open ones: renames update their paths.
type folders map[*dir]struct{}

// follow updates the paths of the folders at and below a renamed path.
func (f folders) follow(a, b *spot) {
	for d := range f {
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
	o.folders[d] = struct{}{}
	return d
}

// Path returns the guest path of the folder, after the renames of this call.
func (d *dir) Path() string { return d.at.Guest }

// Stat describes the folder.
func (d *dir) Stat() (wasi.Stat, wasi.Errno) {
	if n := d.o.changes.at(d.at.Real); d.lower == nil && n != nil && n.kind == folder {
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
		if d.at.Real != "" && d.o.lists != nil && !d.o.lists(d.at.Host) {
			return nil, wasi.EACCES
		}
		d.begun, d.own = true, d.o.view.entries(d.at.Real)
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
		if d.at.Real == "" || d.o.changes.empty() {
			return false
		}
		n := d.o.changes.at(filepath.Join(d.at.Real, e.Name))
		return n != nil && n.kind != touched
	})
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
	delete(d.o.folders, d)
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
