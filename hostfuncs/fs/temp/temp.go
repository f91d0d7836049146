package temp

import (
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Folder is the path of the folder.
const Folder = "/" + name

const (
	name = "temp"
	// maxBytes limits the contents of the folder; each file counts as at least a page.
	maxBytes = 64 << 20
	page     = 4 << 10
	// maxName limits a name, in bytes.
	maxName = 255
	// device is the device of its files.
	device = 0x7e3b
)

// Tree is the file system of one call with the folder.
type Tree struct {
	wasi.Tree
	root  *node
	used  int64 // of maxBytes
	inode uint64
	now   func() time.Time
}

var _ wasi.Tree = (*Tree)(nil)

// New returns the tree below with the folder over it. now is the clock of the guest; nil is the real one.
func New(below wasi.Tree, now func() time.Time) *Tree {
	if now == nil {
		now = time.Now
	}
	t := &Tree{Tree: below, now: now}
	t.root = t.node(wasi.TypeDirectory)
	return t
}

// Has reports whether a path is in the folder.
func Has(path string) bool {
	_, inside := within(path)
	return inside
}

// within returns the parts of a path below the folder, and whether it is in the folder. A trailing slash leaves an
// empty part.
func within(path string) (parts []string, inside bool) {
	depth := 0
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case depth == 0 && part == "..": // the parent of the root is the root
			continue
		case depth == 0 && part != name:
			return nil, false
		case part == "..":
			depth--
			parts = parts[:max(0, len(parts)-1)]
			continue
		case depth > 0:
			parts = append(parts, part)
		}
		depth++
	}
	return parts, depth > 0
}

// folderWanted reports whether a path requires a folder at its end.
func folderWanted(path string) bool {
	return strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..")
}
