package jail

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Tree is the file system of one call. It serves one goroutine at a time. It has a method for each
// operation on a path, and those that overlay and commit ask before they change anything.
type Tree struct {
	mounts  *mountTable
	access  *access
	paths   *resolver
	rules   *rules
	folders openFolders
}

var _ wasi.Tree = (*Tree)(nil)

// New returns a tree of those mounts. A mount that is not absolute, or that is inside another one under the same name,
// is ignored. Of two mounts with one guest path the first is used.
func New(mounts []Mount, d Decider) *Tree {
	t := &Tree{mounts: newMountTable(mounts), access: newAccess(d), folders: openFolders{}}
	t.paths = &resolver{mounts: t.mounts, access: t.access}
	t.rules = &rules{mounts: t.mounts, access: t.access, paths: t.paths}
	return t
}

// Add adds a mount by the rules of New.
func (t *Tree) Add(m Mount) { t.mounts.add(m) }

// Close closes the folders that the tree holds open. Files that were opened through it stay open.
func (t *Tree) Close() { t.mounts.close() }
