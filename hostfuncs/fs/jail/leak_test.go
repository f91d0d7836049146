package jail_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// No operation leaves a descriptor open, and neither does a failed one.
func TestTree_leavesNothingOpen(t *testing.T) {
	const list = "/proc/self/fd"
	count := func() int {
		entries, err := os.ReadDir(list)
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	w := newWorld(t, []string{"a/b/c", "s/key", "b/c/key", "o -> b"}, []string{"write %s", "deny %s/s"})
	before := count()
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		script := make([]byte, 50)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		p := player{files: w.Tree, start: w.guest, script: script}
		for len(p.script) > 0 {
			p.step()
		}
		if d, e := w.Open(w.guest+"/a", wasi.OpenOptions{Read: true}); e == wasi.ESUCCESS {
			_, _ = d.ReadDir(10)
			d.Close()
		}
	}
	w.Tree.Close()
	if after := count(); after > before {
		t.Errorf("got %d descriptors, want %d", after, before)
	}
}
