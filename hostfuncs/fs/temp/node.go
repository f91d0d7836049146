package temp

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// node is a file or a folder.
type node struct {
	stat    wasi.Stat
	content []byte
	entries map[string]*node // of a folder
	up      *node            // the folder that it is in
	called  string           // its name there
	opened  int              // handles
}

// node returns a new node.
func (t *Tree) node(kind wasi.Filetype) *node {
	t.inode++
	now := t.now().UnixNano()
	n := &node{stat: wasi.Stat{Dev: device, Ino: t.inode, Nlink: 1, Type: kind, Atime: now, Mtime: now, Ctime: now}}
	if kind == wasi.TypeDirectory {
		n.entries = map[string]*node{}
	}
	return n
}

func (n *node) folder() bool { return n.entries != nil }

// path returns the path of a node, in time linear in its length: a guest can nest folders as deeply as the limit of
// bytes allows.
func (n *node) path() string {
	parts := []string{}
	for ; n.up != nil; n = n.up {
		parts = append(parts, n.called)
	}
	parts = append(parts, Folder)
	slices.Reverse(parts)
	return strings.Join(parts, "/")
}

// below reports whether n is in a folder, at any depth, or is the folder.
func (n *node) below(folder *node) bool {
	for ; n != nil; n = n.up {
		if n == folder {
			return true
		}
	}
	return false
}

// take counts bytes that are added to the contents of the folder.
func (t *Tree) take(bytes int64) wasi.Errno {
	if bytes > maxBytes-t.used {
		return wasi.ENOSPC
	}
	t.used += bytes
	return wasi.ESUCCESS
}

// release returns the bytes of a node that has neither a name nor a handle.
func (t *Tree) release(n *node) {
	if n.stat.Nlink == 0 && n.opened == 0 {
		t.used -= page + int64(len(n.content))
		n.content = nil
	}
}

// resize changes the size of a file.
func (t *Tree) resize(n *node, size int64) wasi.Errno {
	if e := t.take(max(size-int64(len(n.content)), 0)); e != wasi.ESUCCESS {
		return e
	}
	if more := size - int64(len(n.content)); more > 0 {
		n.content = append(n.content, make([]byte, more)...)
	} else {
		t.used += more
		n.content = append(make([]byte, 0, size), n.content[:size]...)
	}
	t.changed(n)
	return wasi.ESUCCESS
}

func (t *Tree) changed(n *node) {
	n.stat.Mtime = t.now().UnixNano()
	n.stat.Ctime = n.stat.Mtime
}

// describe returns the description of a node.
func (n *node) describe() wasi.Stat {
	st := n.stat
	st.Size = int64(len(n.content))
	return st
}

// set sets the given times.
func (n *node) set(times wasi.Times) {
	if times.Atime != nil {
		n.stat.Atime = *times.Atime
	}
	if times.Mtime != nil {
		n.stat.Mtime = *times.Mtime
	}
}

// spot is a place in the folder: a name in a parent, and the object there, if any.
type spot struct {
	up   *node // nil for the folder itself
	name string
	node *node
}

// find returns the place of a path in the folder.
func (t *Tree) find(path string) (spot, wasi.Errno) {
	parts, _ := within(path)
	at := spot{node: t.root}
	for _, part := range parts {
		switch {
		case at.node == nil:
			return spot{}, wasi.ENOENT
		case !at.node.folder():
			return spot{}, wasi.ENOTDIR
		}
		at = spot{up: at.node, name: part, node: at.node.entries[part]}
	}
	if at.node != nil && !at.node.folder() && folderWanted(path) {
		return spot{}, wasi.ENOTDIR
	}
	return at, wasi.ESUCCESS
}

// existing returns the place of an object.
func (t *Tree) existing(path string) (spot, wasi.Errno) {
	at, e := t.find(path)
	if e == wasi.ESUCCESS && at.node == nil {
		e = wasi.ENOENT
	}
	return at, e
}

// put gives a node its place, in place of the one there.
func (t *Tree) put(at spot, n *node) {
	at.up.entries[at.name], n.up, n.called = n, at.up, at.name
	t.changed(at.up)
}

// make puts a new node into its place.
func (t *Tree) make(at spot, kind wasi.Filetype) (*node, wasi.Errno) {
	if len(at.name) > maxName {
		return nil, wasi.ENAMETOOLONG
	}
	if e := t.take(page); e != wasi.ESUCCESS {
		return nil, e
	}
	n := t.node(kind)
	t.put(at, n)
	return n, wasi.ESUCCESS
}

// drop removes the object at a place.
func (t *Tree) drop(at spot) {
	delete(at.up.entries, at.name)
	at.node.stat.Nlink--
	t.changed(at.up)
	t.release(at.node)
}
