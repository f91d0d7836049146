package hostfuncs

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func TestGate_mountsFilesAtTheirFirstUse(t *testing.T) {
	h := NewHost(nil)
	defer h.Close()
	line, err := grant.ParseLine("fs: write " + t.TempDir() + "/**")
	if err != nil {
		t.Fatal(err)
	}
	g := h.Plugin(Plugin{Name: "a", Grants: grant.NewSet(line)}).NewGate(Call{ID: "1"})
	defer g.Close()
	state := g.WASI()
	if g.writes.files.Load() != nil {
		t.Error("got files mounted with the WASI state, want none before their first use")
	}
	if _, e := state.Tree().Open("/", wasi.OpenOptions{Directory: true}); e != wasi.ESUCCESS {
		t.Errorf("open /: got %v, want success", e)
	}
	if g.writes.files.Load() == nil {
		t.Error("got no files mounted after their first use")
	}
	if state.Tree() != state.Tree() {
		t.Error("got two trees, want one")
	}
}

// maxGateObjects bounds the objects of a call that uses only its clock, as calls of Go's runtime do.
const maxGateObjects = 7

func TestGate_ofAClockAllocatesLittle(t *testing.T) {
	h := NewHost(nil)
	defer h.Close()
	p := h.Plugin(Plugin{Name: "a"})
	n := testing.AllocsPerRun(100, func() {
		g := p.NewGate(Call{ID: "1"})
		g.WASI()
		g.Close()
	})
	if n > maxGateObjects {
		t.Errorf("got %v objects, want at most %d", n, maxGateObjects)
	}
}
