package overlay

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/tree"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Limits of one call's changes, where the operator sets none.
const (
	DefaultBytes = 256 << 20 // of content that is written
	DefaultFiles = 10_000    // that are made, changed, moved or removed; each is an entry in memory
)

// Options configure an Overlay.
type Options struct {
	// Scratch is the folder for large contents, made when it is needed; empty is the system's.
	Scratch string
	// Direct says which paths are written in place; nil is none.
	Direct func(host string) bool
	// Full hears of each change that is not made since a bound would be passed; nil hears nothing.
	Full func(Full)
	// Bytes and Files bound the call's changes; 0 is the default. Beyond them writes answer ENOSPC.
	Bytes, Files int64
	// Share says which part of the changes a path belongs to, that is bounded by itself; nil is none.
	Share func(host string) Share
	// Fold says that the file system does not tell upper from lower case.
	Fold bool
	// Moved hears how many bytes of a file were read and written, when it is closed; nil hears nothing.
	Moved func(op tree.Op, host string, n int64)
	// Lists decides about the names in a folder of the host that is open, when they are first read; nil allows all.
	Lists func(host string) bool
	// LinksOut hears of each symbolic link that is not made, since it would lead out of what the guest has; nil
	// hears nothing. The guest gets EPERM.
	LinksOut func(host, target string)
}

// Share is a part of the changes: those under one grant.
type Share struct {
	ID           any   // comparable; nil is no share
	Bytes, Files int64 // its bounds; 0 is none
}

// Full says which bound a change would have passed.
type Full struct {
	Host  string // what was to be changed
	Share any    // the ID of the share whose bound it is; nil is the call's own
	Files bool   // files are counted, not bytes
	Used  int64  // of the bound, before the change
	More  int64  // what the change would have added
	Limit int64
}

// part is what a share holds.
type part struct {
	Share
	used, count int64
}

// part finds the share of a path; nil if it has none.
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

// Overlay is the files of one call as the call sees them.
type Overlay struct {
	lower *tree.Tree
	o     Options
	nodes map[string]*node  // by real path
	below map[string]int    // how many nodes there are below a real path
	files map[string]*inode // of the host that were opened: what was read of them
	parts map[any]*part
	dirs  map[*dir]struct{} // open ones, whose paths follow renames
	used  int64             // bytes of contents
	made  uint64            // files and folders made so far
}

var _ wasi.Tree = (*Overlay)(nil)

// New returns an overlay over the files of a call. Close it when its changes have landed, or to drop them.
func New(lower *tree.Tree, o Options) *Overlay {
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

// full tells of a bound and refuses.
func (o *Overlay) full(f Full) wasi.Errno {
	if o.o.Full != nil {
		o.o.Full(f)
	}
	return wasi.ENOSPC
}

// kind is what a node makes of a path.
type kind uint8

const (
	gone    kind = iota // what the host has there is removed or moved away
	file                // a file with another content, times or name than the host's
	folder              // a folder that the host does not have
	link                // a symbolic link that the host does not have
	touched             // a folder of the host with other times
)

// node is one path that is not as the host has it.
type node struct {
	kind   kind
	ino    uint64      // of a new folder or link
	at     tree.Spot   // where it is
	was    fs.FileInfo // what the host has there; nil if nothing
	file   *inode
	target string     // of a link
	times  wasi.Times // of a folder; nil ones are as they come
	since  int64      // when a new folder or link was made, or the folder's entries changed last
	part   *part
	sure   bool // of a new one: the call knows that nothing was there, and counts on it
}

func (n *node) isDir() bool { return n.kind == folder || n.kind == touched }

// key is a real path as nodes are kept by it.
func (o *Overlay) key(real string) string {
	if o.o.Fold {
		return strings.ToLower(real)
	}
	return real
}

func (o *Overlay) at(real string) *node { return o.nodes[o.key(real)] }

// put keeps a node, ENOSPC if there are too many.
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

// leave ends the use of a node.
func (n *node) leave() {
	if n.part != nil {
		n.part.count--
	}
	if n.file != nil {
		n.file.names--
		n.file.unused()
	}
}

// take removes a node: the path is as the host has it.
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

// direct says whether a place is written in place.
func (o *Overlay) direct(host string) bool { return o.o.Direct != nil && o.o.Direct(host) }

// was is what the host has at a place, whatever the call made of it.
func (s *spot) was() fs.FileInfo {
	if s.node != nil {
		return s.node.was
	}
	return s.Info
}

// number makes a number for what the host does not have.
func (o *Overlay) number() uint64 {
	o.made++
	return 1<<63 | o.made
}

// spot is where a path leads in the call's view.
type spot struct {
	tree.Spot
	node *node // what the call made of it; nil if the host has it
}

// there says whether anything is at the place.
func (s *spot) there() bool {
	if s.node != nil {
		return s.node.kind != gone
	}
	return s.Spot.There()
}

// since is when what is there changed last.
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

// regular says whether it is a file that opens.
func (s *spot) regular() bool {
	if s.node != nil {
		return s.node.kind == file
	}
	return s.Info != nil && s.Info.Mode().IsRegular()
}

// child is a name in a folder that the call made.
func (s *spot) child(name string) tree.Spot {
	return tree.Spot{Guest: path.Join(s.Guest, name), Host: filepath.Join(s.Host, name), Real: filepath.Join(s.Real, name)}
}
