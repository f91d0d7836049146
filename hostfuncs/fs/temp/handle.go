package temp

import (
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// handle is an open file or folder.
type handle struct {
	tree        *Tree
	node        *node
	read, write bool
	rest        []string // the names that ReadDir has not returned
	begun       bool
}

var _ wasi.File = (*handle)(nil)

// Path implements wasi.File.
func (h *handle) Path() string { return h.node.path() }

// Stat implements wasi.File.
func (h *handle) Stat() (wasi.Stat, wasi.Errno) { return h.node.describe(), wasi.ESUCCESS }

// ReadAt implements wasi.File.
func (h *handle) ReadAt(p []byte, off int64) (int, wasi.Errno) {
	switch {
	case h.node.folder():
		return 0, wasi.EISDIR
	case !h.read:
		return 0, wasi.EBADF
	case off >= int64(len(h.node.content)):
		return 0, wasi.ESUCCESS
	}
	return copy(p, h.node.content[off:]), wasi.ESUCCESS
}

// WriteAt implements wasi.File.
func (h *handle) WriteAt(p []byte, off int64) (int, wasi.Errno) {
	if e := h.writable(); e != wasi.ESUCCESS || len(p) == 0 {
		return 0, e
	}
	if off > maxBytes {
		return 0, wasi.ENOSPC
	}
	if end := off + int64(len(p)); end > int64(len(h.node.content)) {
		if e := h.tree.resize(h.node, end); e != wasi.ESUCCESS {
			return 0, e
		}
	}
	h.tree.changed(h.node)
	return copy(h.node.content[off:], p), wasi.ESUCCESS
}

// Append implements wasi.File.
func (h *handle) Append(p []byte) (int, wasi.Errno) { return h.WriteAt(p, int64(len(h.node.content))) }

// Truncate implements wasi.File.
func (h *handle) Truncate(size int64) wasi.Errno {
	if e := h.writable(); e != wasi.ESUCCESS {
		return e
	}
	return h.tree.resize(h.node, size)
}

func (h *handle) writable() wasi.Errno {
	switch {
	case h.node.folder():
		return wasi.EISDIR
	case !h.write:
		return wasi.EBADF
	}
	return wasi.ESUCCESS
}

// Sync implements wasi.File.
func (h *handle) Sync() wasi.Errno { return wasi.ESUCCESS }

// Chtimes implements wasi.File.
func (h *handle) Chtimes(times wasi.Times) wasi.Errno {
	h.node.set(times)
	return wasi.ESUCCESS
}

// ReadDir implements wasi.File.
func (h *handle) ReadDir(n int) (entries []wasi.DirEntry, _ wasi.Errno) {
	if !h.node.folder() {
		return nil, wasi.ENOTDIR
	}
	if !h.begun {
		_ = h.Rewind() // it is a folder
	}
	for ; len(h.rest) > 0 && len(entries) < n; h.rest = h.rest[1:] {
		if one := h.node.entries[h.rest[0]]; one != nil { // not removed meanwhile
			entries = append(entries, wasi.DirEntry{Name: h.rest[0], Type: one.stat.Type, Ino: one.stat.Ino})
		}
	}
	return entries, wasi.ESUCCESS
}

// Rewind implements wasi.File.
func (h *handle) Rewind() wasi.Errno {
	if !h.node.folder() {
		return wasi.ENOTDIR
	}
	h.begun, h.rest = true, slices.Sorted(maps.Keys(h.node.entries))
	return wasi.ESUCCESS
}

// Close implements wasi.File.
func (h *handle) Close() wasi.Errno {
	h.node.opened--
	h.tree.release(h.node)
	return wasi.ESUCCESS
}
