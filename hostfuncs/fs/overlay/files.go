package overlay

import (
	"math"
	"os"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// files are the files that the call has opened or written, with their contents.
type files struct {
	lower   *jail.Tree
	changes *changeset
	budget  *budget
	scratch string                                 // Options.Scratch
	moved   func(op jail.Op, host string, n int64) // Options.Moved
	opened  map[string]*inode                      // files of the host, by key of the real path
}

// at returns the inode of a file at a place.
func (f *files) at(s *spot) *inode {
	if s.node != nil {
		return s.node.file
	}
	k := f.changes.key(s.Real)
	in := f.opened[k]
	if in == nil {
		in = &inode{files: f, lower: s.Guest, at: s.Spot}
		f.opened[k] = in
	}
	return in
}

// create returns the inode of a new, empty file at a vacant place. sure means that the call depends on the vacancy.
func (f *files) create(s *spot, sure bool) (*inode, wasi.Errno) {
	in := &inode{files: f, at: s.Spot, ino: f.changes.number()}
	n := &node{kind: file, at: s.Spot, was: s.was(), file: in, sure: sure && s.was() == nil}
	if e := f.changes.put(n); e != wasi.ESUCCESS {
		return nil, e
	}
	_, e := in.own(0)
	return in, e
}

// write writes bytes to a content, within the limits of the call.
func (f *files) write(c *content, p []byte, off int64) wasi.Errno {
	if off < 0 || off > math.MaxInt64-int64(len(p)) {
		return wasi.EFBIG
	}
	if e := f.reserve(c, max(c.size, off+int64(len(p)))); e != wasi.ESUCCESS {
		return e
	}
	if _, err := c.writeAt(p, off); err != nil {
		return wasi.EIO
	}
	return wasi.ESUCCESS
}

// reserve accounts for the new size of a content. ENOSPC is returned beyond a limit.
func (f *files) reserve(c *content, size int64) wasi.Errno {
	more := size - c.size
	if e := f.budget.grow(c, more); e != wasi.ESUCCESS {
		return e
	}
	if size > maxInMemory {
		if err := c.spill(f.scratch); err != nil {
			return wasi.EIO
		}
	}
	f.budget.account(c, more)
	return wasi.ESUCCESS
}

// knew reports whether the call had read the host's file at a node. Then it depends on that content.
func (f *files) knew(n *node) bool {
	in := f.opened[f.changes.key(n.at.Real)]
	return n.was != nil && in != nil && in.read && os.SameFile(in.at.Info, n.was)
}
