package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// handle is an open file. All handles of a file share its inode, and thus its content.
type handle struct {
	in          *inode
	guest       string
	lower       wasi.File // the host's file, opened for the first read
	read, write bool
	got, put    int64 // bytes read and written
}

var _ wasi.File = (*handle)(nil)

// handle opens the file.
func (in *inode) handle(guest string, opt wasi.OpenOptions) *handle {
	in.opens++
	return &handle{in: in, guest: guest, read: opt.Read, write: opt.Write}
}

// Path returns the guest path at which the file was opened.
func (h *handle) Path() string { return h.guest }

// Stat describes the file as the call sees it.
func (h *handle) Stat() (wasi.Stat, wasi.Errno) {
	if h.in.data == nil && h.lower != nil {
		st, e := h.lower.Stat()
		return withTimes(st, h.in.times), e
	}
	return h.in.stat()
}

// ReadAt reads the content of the call or, before the first write, that of the host.
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
		h.lower, e = h.in.files.lower.Open(h.in.lower, wasi.OpenOptions{Read: true})
	}
	return e
}

// WriteAt writes to the content of the call.
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

// Truncate changes the size of the file.
func (h *handle) Truncate(size int64) wasi.Errno {
	if !h.write {
		return wasi.EINVAL
	}
	return h.in.truncate(size)
}

// Sync does nothing: the landing flushes the content to disk.
func (h *handle) Sync() wasi.Errno { return wasi.ESUCCESS }

// Chtimes sets the times of the file.
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

// ReadDir returns ENOTDIR.
func (h *handle) ReadDir(int) ([]wasi.DirEntry, wasi.Errno) { return nil, wasi.ENOTDIR }

// Rewind returns ENOTDIR.
func (h *handle) Rewind() wasi.Errno { return wasi.ENOTDIR }

// Close closes the file and reports the bytes read and written to Options.Moved.
func (h *handle) Close() wasi.Errno {
	h.in.opens--
	h.in.unused()
	if moved := h.in.files.moved; moved != nil {
		if h.got > 0 {
			moved(jail.Read, h.in.at.Host, h.got)
		}
		if h.put > 0 {
			moved(jail.Write, h.in.at.Host, h.put)
		}
	}
	if h.lower != nil {
		return h.lower.Close()
	}
	return wasi.ESUCCESS
}
