package overlay

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

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

// stat describes an existing node.
func (n *node) stat() wasi.Stat {
	switch n.kind {
	case file:
		st, _ := n.file.stat()
		st.Nlink = max(1, uint64(n.file.names))
		return st
	case link:
		return n.dated(wasi.Stat{Type: wasi.TypeSymlink, Size: int64(len(n.target))})
	}
	return n.dated(wasi.Stat{Type: wasi.TypeDirectory})
}

// dated sets the inode and the times of a new folder or link.
func (n *node) dated(st wasi.Stat) wasi.Stat {
	st.Ino, st.Nlink = n.ino, 1
	st.Atime, st.Mtime, st.Ctime = n.since, n.since, n.since
	return withTimes(st, n.times)
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

// changeset holds the paths that differ from the host.
type changeset struct {
	budget *budget
	fold   bool             // the file system is not case-sensitive
	nodes  map[string]*node // by key of the real path
	below  map[string]int   // number of nodes below a key
	made   uint64           // number of files, folders and links created so far
}

func newChangeset(b *budget, fold bool) *changeset {
	return &changeset{budget: b, fold: fold, nodes: map[string]*node{}, below: map[string]int{}}
}

// key returns the key of a real path.
func (c *changeset) key(real string) string {
	if c.fold {
		return strings.ToLower(real)
	}
	return real
}

func (c *changeset) empty() bool { return len(c.nodes) == 0 }

// at returns the change of a path; nil if there is none.
func (c *changeset) at(real string) *node { return c.nodes[c.key(real)] }

// put adds a node. ENOSPC is returned beyond a limit.
func (c *changeset) put(n *node) wasi.Errno {
	k := c.key(n.at.Real)
	n.part = c.budget.part(n.at.Host)
	old, have := c.nodes[k]
	if !have {
		if e := c.budget.admit(n.at.Host, n.part, int64(len(c.nodes))); e != wasi.ESUCCESS {
			return e
		}
	}
	if n.file != nil {
		n.file.names++
		n.file.known = true
	}
	if have {
		old.leave()
	} else {
		c.count(k, 1)
	}
	if n.part != nil {
		n.part.count++
	}
	c.nodes[k] = n
	if n.since == 0 {
		n.since = time.Now().UnixNano()
	}
	if parent := c.nodes[filepath.Dir(k)]; parent != nil {
		parent.since = time.Now().UnixNano()
	}
	return wasi.ESUCCESS
}

// take removes a node: the path equals the host again.
func (c *changeset) take(real string) {
	k := c.key(real)
	n, have := c.nodes[k]
	if !have {
		return
	}
	n.leave()
	delete(c.nodes, k)
	c.count(k, -1)
}

// count adds to the number of nodes below each folder above a key.
func (c *changeset) count(k string, more int) {
	for dir := filepath.Dir(k); ; dir = filepath.Dir(dir) {
		if c.below[dir] += more; c.below[dir] == 0 {
			delete(c.below, dir)
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// makeDir creates a folder. If the host has a folder at the place, which the call removed, it is restored as an empty
// one.
func (c *changeset) makeDir(s *spot) wasi.Errno {
	if was := s.was(); was != nil && was.IsDir() {
		c.take(s.Real)
		return wasi.ESUCCESS
	}
	return c.put(&node{kind: folder, at: s.Spot, was: s.was(), ino: c.number(), sure: s.was() == nil})
}

// makeLink creates a symbolic link, with the time of its last change; 0 is now.
func (c *changeset) makeLink(s *spot, target string, since int64) wasi.Errno {
	return c.put(&node{kind: link, at: s.Spot, was: s.was(), target: target, ino: c.number(), sure: s.was() == nil, since: since})
}

// remove removes the object at a place.
func (c *changeset) remove(s *spot) wasi.Errno {
	if s.was() == nil {
		c.take(s.Real)
		return wasi.ESUCCESS
	}
	return c.put(&node{kind: gone, at: s.Spot, was: s.was()})
}

// number returns a new inode number, for an object that the host does not have.
func (c *changeset) number() uint64 {
	c.made++
	return 1<<63 | c.made
}

// sorted returns the nodes, sorted by path.
func (c *changeset) sorted() []*node {
	var all []*node
	for _, k := range slices.Sorted(maps.Keys(c.nodes)) {
		all = append(all, c.nodes[k])
	}
	return all
}

// drop drops the changes.
func (c *changeset) drop() {
	for _, n := range c.nodes {
		if n.file != nil {
			n.file.drop()
		}
	}
	clear(c.nodes)
}
