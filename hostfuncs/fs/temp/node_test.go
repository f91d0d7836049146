package temp

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// TestPath_copiesEachNameOnce counts bytes by allocations: one for the path, and few for the list of names.
func TestPath_copiesEachNameOnce(t *testing.T) {
	tree := New(nil, nil)
	at, want := tree.root, Folder
	for range 2000 {
		n := tree.node(wasi.TypeDirectory)
		n.up, n.called = at, strings.Repeat("x", 20)
		at, want = n, want+"/"+n.called
	}
	if got := at.path(); got != want {
		t.Errorf("got a path of %d bytes, want %d", len(got), len(want))
	}
	if n := testing.AllocsPerRun(1, func() { _ = at.path() }); n > 30 {
		t.Errorf("got %v allocations for 2000 folders, want at most 30", n)
	}
}
