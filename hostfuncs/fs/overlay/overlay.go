package overlay

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Default limits of the changes of one call.
const (
	DefaultBytes = 256 << 20 // written content, in bytes
	DefaultFiles = 10_000    // paths created, changed, moved or removed; each is an entry in memory
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

// Share is the part of the changes under one grant.
type Share struct {
	ID           any   // comparable; nil is no share
	Bytes, Files int64 // limits; 0 is none
}

// Full describes a change that would have exceeded a limit.
type Full struct {
	Host  string // path of the change
	Share any    // ID of the share with that limit; nil for the limit of the call
	Files bool   // the limit counts files instead of bytes
	Used  int64  // before the change
	More  int64  // requested by the change
	Limit int64
}

// part is the usage of a share.
type part struct {
	Share
	used, count int64
}

// part returns the share of a path; nil if it has none.
func (o *Overlay) part(host string) *part {
	if o.o.Share == nil {
		return nil
	}
	s := o.o.Share(host)
	if s.ID == nil || s.Bytes == 0 && s.Files == 0 {
		return nil
	}
	if o.parts[s.ID] == nil {
		o.parts[s.ID] = &part{Share: s}
	}
	return o.parts[s.ID]
}

// Overlay is the file system of one call, including the call's own changes.
type Overlay struct {
	lower *jail.Tree
	o     Options
	nodes map[string]*node  // by real path
	below map[string]int    // number of nodes below a real path
	files map[string]*inode // opened files of the host, by real path
	parts map[any]*part
	dirs  map[*dir]struct{} // open ones; renames update their paths
	used  int64             // bytes of contents
	made  uint64            // number of files, folders and links created so far
}

var _ wasi.Tree = (*Overlay)(nil)

// New returns an overlay over the files of a call. Close it after its changes have landed, or to drop them.
func New(lower *jail.Tree, o Options) *Overlay {
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.Files <= 0 {
		o.Files = DefaultFiles
	}
	return &Overlay{lower: lower, o: o, nodes: map[string]*node{}, below: map[string]int{}, files: map[string]*inode{}, dirs: map[*dir]struct{}{}, parts: map[any]*part{}}
}

// Close drops the changes.
func (o *Overlay) Close() {
	for _, n := range o.nodes {
		if n.file != nil {
			n.file.drop()
		}
	}
	clear(o.nodes)
}

// full reports an exceeded limit and returns ENOSPC.
func (o *Overlay) full(f Full) wasi.Errno {
	if o.o.Full != nil {
		o.o.Full(f)
	}
	return wasi.ENOSPC
}

// kind is the type of a change of a path.
type kind uint8

const (
	gone    kind = iota // the host's object is removed or moved away
	file                // a file that differs in content, times or name from the host's
	folder              // a folder that the host does not have
	link                // a symbolic link that the host does not have
	touched             // a folder of the host with other times
)

// node is one path that differs from the host.
type node struct {
	kind   kind
	ino    uint64      // of a new folder or link
	at     jail.Spot   // its place
	was    fs.FileInfo // the host's object; nil if there is none
	file   *inode
	target string     // of a link
	times  wasi.Times // of a folder; unset ones are not changed by the call
	since  int64      // when a new folder or link was created, or the entries of the folder last changed
	part   *part
	sure   bool // of a new object: the call knows that the path was vacant, and depends on it
}

func (n *node) isDir() bool { return n.kind == folder || n.kind == touched }

// key returns the key of a real path in nodes.
func (o *Overlay) key(real string) string {
	if o.o.Fold {
		return strings.ToLower(real)
	}
	return real
}

func (o *Overlay) at(real string) *node { return o.nodes[o.key(real)] }

// put adds a node. ENOSPC is returned beyond a limit.
func (o *Overlay) put(n *node) wasi.Errno {
	k := o.key(n.at.Real)
	n.part = o.part(n.at.Host)
	if o.nodes[k] == nil && n.part != nil && n.part.Files > 0 && n.part.count >= n.part.Files {
		return o.full(Full{Host: n.at.Host, Share: n.part.ID, Files: true, Used: n.part.count, More: 1, Limit: n.part.Files})
	}
	old, have := o.nodes[k]
	if !have && int64(len(o.nodes)) >= o.o.Files {
		return o.full(Full{Host: n.at.Host, Files: true, Used: int64(len(o.nodes)), More: 1, Limit: o.o.Files})
	}
	if n.file != nil {
		n.file.names++
		n.file.known = true
	}
	if have {
		old.leave()
	} else {
		for dir := filepath.Dir(k); ; dir = filepath.Dir(dir) {
			o.below[dir]++
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if n.part != nil {
		n.part.count++
	}
	o.nodes[k] = n
	if n.since == 0 {
		n.since = time.Now().UnixNano()
	}
	if parent := o.nodes[filepath.Dir(k)]; parent != nil {
		parent.since = time.Now().UnixNano()
	}
	return wasi.ESUCCESS
}

// leave updates the counts for a node that is removed or replaced.
func (n *node) leave() {
	if n.part != nil {
		n.part.count--
	}
	if n.file != nil {
		n.file.names--
		n.file.unused()
	}
}

// take removes a node: the path equals the host again.
func (o *Overlay) take(real string) {
	k := o.key(real)
	n, have := o.nodes[k]
	if !have {
		return
	}
	n.leave()
	delete(o.nodes, k)
	for dir := filepath.Dir(k); ; dir = filepath.Dir(dir) {
		if o.below[dir]--; o.below[dir] == 0 {
			delete(o.below, dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
}

// direct reports whether a path is written in place.
func (o *Overlay) direct(host string) bool { return o.o.Direct != nil && o.o.Direct(host) }

// was returns the host's object at a place, regardless of changes by the call.
func (s *spot) was() fs.FileInfo {
	if s.node != nil {
		return s.node.was
	}
	return s.Info
}

// number returns a new inode number, for an object that the host does not have.
func (o *Overlay) number() uint64 {
	o.made++
	return 1<<63 | o.made
}

// spot is a place in the view of the call.
type spot struct {
	jail.Spot
	node *node // the change by the call; nil if there is none
}

// there reports whether an object exists at the place.
func (s *spot) there() bool {
	if s.node != nil {
		return s.node.kind != gone
	}
	return s.Spot.There()
}

// since returns the time of the last change of the object, in nanoseconds since 1970.
func (s *spot) since() int64 {
	switch {
	case s.node != nil && s.node.since != 0:
		return withTimes(wasi.Stat{Mtime: s.node.since}, s.node.times).Mtime
	case s.Info != nil:
		return s.Info.ModTime().UnixNano()
	}
	return 0
}

func (s *spot) isDir() bool {
	if s.node != nil {
		return s.node.isDir()
	}
	return s.Spot.Dir
}

func (s *spot) isLink() bool {
	if s.node != nil {
		return s.node.kind == link
	}
	return s.Spot.Link()
}

// regular reports whether the object is a regular file.
func (s *spot) regular() bool {
	if s.node != nil {
		return s.node.kind == file
	}
	return s.Info != nil && s.Info.Mode().IsRegular()
}

// child returns the place of a name in a folder created by the call.
func (s *spot) child(name string) jail.Spot {
	return jail.Spot{Guest: path.Join(s.Guest, name), Host: filepath.Join(s.Host, name), Real: filepath.Join(s.Real, name)}
}
