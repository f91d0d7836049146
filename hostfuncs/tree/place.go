package tree

import (
	"io/fs"
	"os"
)

// node is a folder that the walk went through.
type node struct {
	guest  string
	host   string   // empty above all mounts
	mount  *mount   // nil above all mounts
	root   *os.Root // nil above all mounts
	owned  bool     // root is to be closed with the walk
	anchor bool     // the folder that holds a mount which is no folder: only that name may be used
}

// place is where a path leads: a name in a folder, or a folder itself when name is empty.
type place struct {
	nodes       []node
	name        string
	info        fs.FileInfo // nil if nothing is there
	guest, host string
	mustDir     bool // the path was written as a folder's
}

func (p *place) parent() *node { return &p.nodes[len(p.nodes)-1] }

// anchored says that the place is a mount which is no folder.
func (p *place) anchored() bool { return p.parent().anchor }

// synthetic says that the place is a folder above all mounts.
func (p *place) synthetic() bool { return p.name == "" && p.parent().root == nil }

func (p *place) isDir() bool { return p.name == "" || p.info != nil && p.info.IsDir() }

func (p *place) close() {
	for _, n := range p.nodes {
		if n.owned {
			_ = n.root.Close()
		}
	}
}
