package hostfuncs

import (
	"path"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// contents are the files that a recorded call read, and those that a trial reads from the recording: a file that was
// changed or removed since has its contents of then. A file that the guest itself changes is left to the tree.
type contents struct {
	files map[string]*seenFile // by guest path; nil for a file that is left to the tree
}

// seenFile is the part of a file that was read from its beginning on.
type seenFile struct {
	act   string // of the effect that opened it
	bytes []byte
	whole bool
}

// left marks a file that is left to the tree from now on.
func (c *contents) left(name string) {
	if c.files == nil {
		c.files = map[string]*seenFile{}
	}
	c.files[path.Clean(name)] = nil
}

// taped is the tree of a call whose files are recorded, or of a trial.
type taped struct {
	wasi.Tree
	tape *tape
}

var _ wasi.Tree = (*taped)(nil)

// tree adds the tape to the tree of its call; nil leaves it as it is.
func (t *tape) tree(below wasi.Tree) wasi.Tree {
	if t == nil {
		return below
	}
	if t.call.Trial != nil {
		t.read.files = map[string]*seenFile{}
		for _, f := range t.call.Trial.Files {
			t.read.files[f.Path] = &seenFile{act: f.Act, bytes: f.Content, whole: true}
		}
	}
	return &taped{below, t}
}

// Open opens a file of the tree, with its recorded contents in a trial.
func (t *taped) Open(name string, how wasi.OpenOptions) (wasi.File, wasi.Errno) {
	f, e := t.Tree.Open(name, how)
	if how.Write || how.Create || how.Truncate {
		t.tape.read.left(name)
		return f, e
	}
	if !how.Read || how.Directory || e != wasi.ESUCCESS && e != wasi.ENOENT {
		return f, e
	}
	seen, known := t.tape.read.files[path.Clean(name)]
	if t.tape.call.Trial != nil {
		return t.recorded(seen, name, f, e)
	}
	if e != wasi.ESUCCESS || known && (seen == nil || seen.whole) {
		return f, e
	}
	if st, e := f.Stat(); e != wasi.ESUCCESS || st.Type != wasi.TypeRegular {
		return f, wasi.ESUCCESS
	}
	if seen == nil {
		t.tape.read.left(name) // makes the map
		seen = &seenFile{act: t.tape.lastRead()}
		t.tape.read.files[path.Clean(name)] = seen
	}
	return &tapedFile{File: f, tape: t.tape, name: name, seen: seen}, wasi.ESUCCESS
}

// recorded returns a file of a trial: with its recorded contents if it is a file now, or is gone.
func (t *taped) recorded(seen *seenFile, name string, f wasi.File, e wasi.Errno) (wasi.File, wasi.Errno) {
	if seen == nil {
		return f, e
	}
	if e != wasi.ESUCCESS {
		t.tape.put(recording.Exchange{Family: "fs", Act: seen.act})
		return &recordedFile{path: path.Clean(name), content: seen.bytes}, wasi.ESUCCESS
	}
	if st, e := f.Stat(); e != wasi.ESUCCESS || st.Type != wasi.TypeRegular {
		return f, wasi.ESUCCESS
	}
	return &recordedFile{path: f.Path(), content: seen.bytes, live: f}, wasi.ESUCCESS
}

// lastRead returns the act of the last effect on files. It is that of the file just opened, or, for one that was opened
// before, perhaps of another: it is only shown.
func (t *tape) lastRead() string {
	for _, x := range slices.Backward(t.made) {
		if x.Family == "fs" {
			return x.Act
		}
	}
	return ""
}

// Stat describes a file of the tree, with its recorded size in a trial.
func (t *taped) Stat(name string, follow bool) (wasi.Stat, wasi.Errno) {
	st, e := t.Tree.Stat(name, follow)
	seen := t.tape.read.files[path.Clean(name)]
	if t.tape.call.Trial == nil || seen == nil {
		return st, e
	}
	switch {
	case e == wasi.ENOENT:
		return wasi.Stat{Type: wasi.TypeRegular, Nlink: 1, Size: int64(len(seen.bytes))}, wasi.ESUCCESS
	case e == wasi.ESUCCESS && st.Type == wasi.TypeRegular:
		st.Size = int64(len(seen.bytes))
	}
	return st, e
}

// Unlink leaves the name to the tree.
func (t *taped) Unlink(name string) wasi.Errno {
	t.tape.read.left(name)
	return t.Tree.Unlink(name)
}

// Rename leaves both names to the tree.
func (t *taped) Rename(from, to string) wasi.Errno {
	t.tape.read.left(from)
	t.tape.read.left(to)
	return t.Tree.Rename(from, to)
}

// Symlink leaves the name to the tree.
func (t *taped) Symlink(target, name string) wasi.Errno {
	t.tape.read.left(name)
	return t.Tree.Symlink(target, name)
}

// Link leaves the new name to the tree.
func (t *taped) Link(from, to string, follow bool) wasi.Errno {
	t.tape.read.left(to)
	return t.Tree.Link(from, to, follow)
}

// tapedFile is an open file whose contents are recorded while the guest reads them from the beginning.
type tapedFile struct {
	wasi.File
	tape *tape
	name string
	seen *seenFile
}

// ReadAt reads and records.
func (f *tapedFile) ReadAt(p []byte, off int64) (int, wasi.Errno) {
	n, e := f.File.ReadAt(p, off)
	if e != wasi.ESUCCESS || off != int64(len(f.seen.bytes)) || f.seen.whole {
		return n, e
	}
	if f.tape.size+n > recording.MaxCall {
		f.tape.read.left(f.name) // it is read again in a trial
		return n, e
	}
	f.tape.size += n
	f.seen.bytes = append(f.seen.bytes, p[:n]...)
	f.seen.whole = n == 0 && len(p) > 0
	return n, e
}

// Close closes the file.
func (f *tapedFile) Close() wasi.Errno {
	if st, e := f.File.Stat(); e == wasi.ESUCCESS && st.Size == int64(len(f.seen.bytes)) {
		f.seen.whole = true
	}
	return f.File.Close()
}

// kept returns the files that were read as a whole, without values of secrets.
func (t *tape) kept() (files []recording.File) {
	for name, f := range t.read.files {
		if f != nil && f.whole {
			files = append(files, recording.File{Path: name, Act: f.act, Content: t.plain(f.bytes)})
		}
	}
	return files
}

// recordedFile is an open file of a trial with its recorded contents.
type recordedFile struct {
	path    string
	content []byte
	live    wasi.File // nil if it is gone
}

var _ wasi.File = (*recordedFile)(nil)

// Path implements wasi.File.
func (f *recordedFile) Path() string { return f.path }

// Stat implements wasi.File.
func (f *recordedFile) Stat() (st wasi.Stat, e wasi.Errno) {
	st.Type, st.Nlink = wasi.TypeRegular, 1
	if f.live != nil {
		st, e = f.live.Stat()
	}
	st.Size = int64(len(f.content))
	return st, e
}

// ReadAt implements wasi.File.
func (f *recordedFile) ReadAt(p []byte, off int64) (int, wasi.Errno) {
	if off < 0 || off >= int64(len(f.content)) {
		return 0, wasi.ESUCCESS
	}
	return copy(p, f.content[off:]), wasi.ESUCCESS
}

// WriteAt implements wasi.File.
func (f *recordedFile) WriteAt([]byte, int64) (int, wasi.Errno) { return 0, wasi.EBADF }

// Append implements wasi.File.
func (f *recordedFile) Append([]byte) (int, wasi.Errno) { return 0, wasi.EBADF }

// Truncate implements wasi.File.
func (f *recordedFile) Truncate(int64) wasi.Errno { return wasi.EBADF }

// Sync implements wasi.File.
func (f *recordedFile) Sync() wasi.Errno { return wasi.ESUCCESS }

// Chtimes implements wasi.File.
func (f *recordedFile) Chtimes(wasi.Times) wasi.Errno { return wasi.EBADF }

// ReadDir implements wasi.File.
func (f *recordedFile) ReadDir(int) ([]wasi.DirEntry, wasi.Errno) { return nil, wasi.ENOTDIR }

// Rewind implements wasi.File.
func (f *recordedFile) Rewind() wasi.Errno { return wasi.ENOTDIR }

// Close implements wasi.File.
func (f *recordedFile) Close() wasi.Errno {
	if f.live != nil {
		return f.live.Close()
	}
	return wasi.ESUCCESS
}
