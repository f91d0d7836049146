package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/tree"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// handle is an open file. What is written through one is read through all.
type handle struct {
	in          *inode
	guest       string
	lower       wasi.File // the host's file, once something of it is to be read
	read, write bool
	got, put    int64 // bytes
}

var _ wasi.File = (*handle)(nil)

// Path returns where the file was opened.
func (h *handle) Path() string { return h.guest }

// Stat describes the file.
func (h *handle) Stat() (wasi.Stat, wasi.Errno) {
	if h.in.data == nil && h.lower != nil {
		st, e := h.lower.Stat()
		return withTimes(st, h.in.times), e
	}
	return h.in.stat()
}

// ReadAt reads what the call sees.
func (h *handle) ReadAt(p []byte, off int64) (n int, e wasi.Errno) {
	if !h.read {
		return 0, wasi.EBADF
	}
	if h.in.data != nil {
		n, e = h.in.data.readAt(p, off)
	} else if e = h.open(); e == wasi.ESUCCESS {
		h.in.read = true
		n, e = h.lower.ReadAt(p, off)
	}
	h.got += int64(n)
	return n, e
}

// open opens the host's file.
func (h *handle) open() (e wasi.Errno) {
	if h.lower == nil {
		h.lower, e = h.in.o.lower.Open(h.in.lower, wasi.OpenOptions{Read: true})
	}
	return e
}

// WriteAt writes for the call alone.
func (h *handle) WriteAt(p []byte, off int64) (int, wasi.Errno) {
	if !h.write {
		return 0, wasi.EBADF
	}
	n, e := h.in.writeAt(p, off)
	h.put += int64(n)
	return n, e
}

// Append writes at the end.
func (h *handle) Append(p []byte) (int, wasi.Errno) {
	if !h.write {
		return 0, wasi.EBADF
	}
	st, e := h.Stat()
	if e != wasi.ESUCCESS {
		return 0, e
	}
	return h.WriteAt(p, st.Size)
}

// Truncate cuts or extends the file.
func (h *handle) Truncate(size int64) wasi.Errno {
	if !h.write {
		return wasi.EINVAL
	}
	return h.in.truncate(size)
}

// Sync does nothing: the disk gets what was written when the call has succeeded.
func (h *handle) Sync() wasi.Errno { return wasi.ESUCCESS }

// Chtimes sets times.
func (h *handle) Chtimes(t wasi.Times) wasi.Errno {
	if !h.write {
		return wasi.EBADF
	}
	if e := h.in.attach(); e != wasi.ESUCCESS {
		return e
	}
	h.in.times = merge(h.in.times, t)
	return wasi.ESUCCESS
}

// ReadDir is for folders.
func (h *handle) ReadDir(int) ([]wasi.DirEntry, wasi.Errno) { return nil, wasi.ENOTDIR }

// Rewind is for folders.
func (h *handle) Rewind() wasi.Errno { return wasi.ENOTDIR }

// Close ends the use of the file.
func (h *handle) Close() wasi.Errno {
	h.in.opens--
	h.in.unused()
	if moved := h.in.o.o.Moved; moved != nil {
		if h.got > 0 {
			moved(tree.Read, h.in.at.Host, h.got)
		}
		if h.put > 0 {
			moved(tree.Write, h.in.at.Host, h.put)
		}
	}
	if h.lower != nil {
		return h.lower.Close()
	}
	return wasi.ESUCCESS
}
