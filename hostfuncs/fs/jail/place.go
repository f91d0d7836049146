package jail

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
)

// node is a folder that the walk went through.
type node struct {
	guest  string
	host   string   // empty above all mounts
	mount  *mount   // nil above all mounts
	root   *os.Root // nil above all mounts
	owned  bool     // root is closed with the walk
	anchor bool     // the parent folder of a mount that is no folder: only the name of the mount may be used in it
}

// place is the end of a walk: a name in a folder, or a folder itself if name is empty.
type place struct {
	nodes       []node
	name        string
	info        fs.FileInfo // nil if no object is there
	guest, host string
	mustDir     bool // the path ended in a slash, or in "." or ".."
}

func (p *place) parent() *node { return &p.nodes[len(p.nodes)-1] }

// anchored reports whether the place is a mount that is no folder.
func (p *place) anchored() bool { return p.parent().anchor }

// synthetic reports whether the place is a folder above all mounts.
func (p *place) synthetic() bool { return p.name == "" && p.parent().root == nil }

func (p *place) isDir() bool { return p.name == "" || p.info != nil && p.info.IsDir() }

func (p *place) close() {
	for _, n := range p.nodes {
		if n.owned {
			_ = n.root.Close()
		}
	}
}

// entry returns the name of a place in the form that package system takes.
func (p *place) entry() system.Name {
	n := p.parent()
	e := system.Name{Folder: n.root, Name: p.name}
	if m := n.mount; m != nil && m.root != nil {
		rest, _ := cutPrefix(p.host, m.real)
		e.Top, e.Path = m.root, filepath.Clean(rest)
	}
	return e
}
