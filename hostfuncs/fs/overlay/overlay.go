package overlay

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Options configure an Overlay.
type Options struct {
	// Scratch is the folder for large contents, created when needed. Empty means the folder for temporary files of the
	// system.
	Scratch string
	// Direct reports whether a path is written in place. Nil means none.
	Direct func(host string) bool
	// Full, if not nil, is called for each change that is refused because it would exceed a limit.
	Full func(Full)
	// Bytes and Files limit the changes of the call. 0 means the default. Writes beyond them return ENOSPC.
	Bytes, Files int64
	// Share returns the part of the changes, with its own limits, that a path belongs to. Nil means none.
	Share func(host string) Share
	// Fold means that the file system is not case-sensitive.
	Fold bool
	// Moved, if not nil, is called with the number of bytes read and written of a file when it is closed.
	Moved func(op jail.Op, host string, n int64)
	// Lists decides on listing an open folder of the host at the first ReadDir. Nil allows all.
	Lists func(host string) bool
	// LinksOut, if not nil, is called for each symbolic link that is refused because its target is not granted. The
	// guest gets EPERM.
	LinksOut func(host, target string)
}

// Overlay is the file system of one call, including the call's own changes. It has a method for
// each operation on a path, as jail.Tree has, and those that return its effects and changes.
type Overlay struct {
	lower   *jail.Tree
	view    *view
	changes *changeset
	files   *files
	folders folders
	inPlace func(host string) bool // Options.Direct
	placed  map[string]bool        // paths of the host that the call changed in place
	lists   func(host string) bool
}

var _ wasi.Tree = (*Overlay)(nil)

// New returns an overlay over the files of a call. Close it after its changes have landed, or to drop them.
func New(lower *jail.Tree, o Options) *Overlay {
	b := newBudget(o)
	c := newChangeset(b, o.Fold)
	return &Overlay{
		lower: lower, changes: c, folders: folders{}, inPlace: o.Direct, lists: o.Lists,
		view:  &view{lower: lower, changes: c, linksOut: o.LinksOut},
		files: &files{lower: lower, changes: c, budget: b, scratch: o.Scratch, moved: o.Moved, opened: map[string]*inode{}},
	}
}

// Close drops the changes.
func (o *Overlay) Close() { o.changes.drop() }

// Wrote reports whether the call created or changed the file at a path, or opened it to write in place.
func (o *Overlay) Wrote(name string) bool {
	s, e := o.view.find(name, true, jail.Read)
	return e == wasi.ESUCCESS && (s.node != nil && s.node.kind == file || o.placed[s.Host])
}

// direct reports whether a path is written in place, which the caller does next.
func (o *Overlay) direct(host string) bool {
	if o.inPlace == nil || !o.inPlace(host) {
		return false
	}
	if o.placed == nil {
		o.placed = map[string]bool{}
	}
	o.placed[host] = true
	return true
}
