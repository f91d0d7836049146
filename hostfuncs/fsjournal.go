package hostfuncs

import (
	"encoding/binary"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// observed is a tree that reports the guest's file accesses to the call's journal. A replay reads the files again,
// and they must be unchanged: the journal stores no contents.
type observed struct {
	wasi.Tree
	journal *journal.Journal
}

var _ wasi.Tree = (*observed)(nil)

// saw reports one access: the request and its result.
func saw(j *journal.Journal, op, path string, e wasi.Errno, seen ...[]byte) {
	j.Observe(append([][]byte{[]byte(op), []byte(path), binary.BigEndian.AppendUint16(nil, uint16(e))}, seen...)...)
}

// shape returns the reproducible part of a stat: times differ after the call's own writes.
func shape(s wasi.Stat) []byte {
	if s.Type == wasi.TypeDirectory {
		s.Size = 0
	}
	return binary.BigEndian.AppendUint64([]byte{byte(s.Type)}, uint64(s.Size))
}

// Open reports the result.
func (o *observed) Open(path string, how wasi.OpenOptions) (wasi.File, wasi.Errno) {
	f, e := o.Tree.Open(path, how)
	saw(o.journal, "open", path, e)
	if f == nil || e != wasi.ESUCCESS {
		return f, e
	}
	return &observedFile{File: f, journal: o.journal}, e
}

// Stat reports type and size.
func (o *observed) Stat(path string, follow bool) (wasi.Stat, wasi.Errno) {
	s, e := o.Tree.Stat(path, follow)
	saw(o.journal, "stat", path, e, shape(s))
	return s, e
}

// Readlink reports the target.
func (o *observed) Readlink(path string) (string, wasi.Errno) {
	target, e := o.Tree.Readlink(path)
	saw(o.journal, "readlink", path, e, []byte(target))
	return target, e
}

// Mkdir reports the result.
func (o *observed) Mkdir(path string) wasi.Errno {
	e := o.Tree.Mkdir(path)
	saw(o.journal, "mkdir", path, e)
	return e
}

// Rename reports the result.
func (o *observed) Rename(from, to string) wasi.Errno {
	e := o.Tree.Rename(from, to)
	saw(o.journal, "rename", from, e, []byte(to))
	return e
}

// Unlink reports the result.
func (o *observed) Unlink(path string) wasi.Errno {
	e := o.Tree.Unlink(path)
	saw(o.journal, "unlink", path, e)
	return e
}

// Rmdir reports the result.
func (o *observed) Rmdir(path string) wasi.Errno {
	e := o.Tree.Rmdir(path)
	saw(o.journal, "rmdir", path, e)
	return e
}

// observedFile is an open file of an observed tree.
type observedFile struct {
	wasi.File
	journal *journal.Journal
}

// Stat reports type and size.
func (f *observedFile) Stat() (wasi.Stat, wasi.Errno) {
	s, e := f.File.Stat()
	saw(f.journal, "stat", f.Path(), e, shape(s))
	return s, e
}

// ReadAt reports the bytes.
func (f *observedFile) ReadAt(p []byte, off int64) (int, wasi.Errno) {
	n, e := f.File.ReadAt(p, off)
	saw(f.journal, "read", f.Path(), e, binary.BigEndian.AppendUint64(nil, uint64(off)), p[:max(n, 0)])
	return n, e
}

// ReadDir reports the sorted names: the order of the file system varies.
func (f *observedFile) ReadDir(n int) ([]wasi.DirEntry, wasi.Errno) {
	entries, e := f.File.ReadDir(n)
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name
	}
	slices.Sort(names)
	seen := make([][]byte, len(names))
	for i, name := range names {
		seen[i] = []byte(name)
	}
	saw(f.journal, "list", f.Path(), e, seen...)
	return entries, e
}
