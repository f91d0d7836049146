package rewrite_test

import (
	"bytes"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// rewritten returns a module of one function that returns n, as it is compiled.
func rewritten(t *testing.T, n int32) []byte {
	t.Helper()
	var m w.Module
	m.Memory(1, 2)
	m.Table(3, 9)
	m.Global(w.I32, 7)
	m.Data(3, []byte("segment"))
	m.Export("run", m.Func([]byte{w.I64}, []byte{w.I32}, nil, w.I32Const(n)))
	b, err := wasmbin.Read(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	checked, err := wasmbin.Check(b, wasmbin.Limits{Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := rewrite.Rewrite(checked, rewrite.Options{Meter: true, Snapshot: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOutline_keepsEverySectionButTheCode(t *testing.T) {
	whole := rewritten(t, 5)
	outline, err := rewrite.Outline(whole)
	if err != nil {
		t.Fatal(err)
	}
	before, err := wasmbin.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	after, err := wasmbin.Read(outline)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[byte][]byte{}
	for _, s := range after.Sections() {
		sections[s.ID] = s.Data
	}
	for _, s := range before.Sections() {
		if same := bytes.Equal(sections[s.ID], s.Data); same != (s.ID != wasmbin.SectionCode) {
			t.Errorf("section %d: equal: %v", s.ID, same)
		}
	}
	if before.Funcs != after.Funcs || bytes.Contains(outline, []byte{0x41, 5, 0x0b}) {
		t.Errorf("got %d functions and the code %x; want %d and none", after.Funcs, outline, before.Funcs)
	}
}

// The engine takes modules of equal bytes for the same one.
func TestOutline_differsWithTheCode(t *testing.T) {
	one, err := rewrite.Outline(rewritten(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	two, err := rewrite.Outline(rewritten(t, 6))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(one, two) {
		t.Error("modules with different code have the same outline")
	}
}

func TestOutline_refusesTruncatedModules(t *testing.T) {
	whole := rewritten(t, 5)
	ends := map[int]bool{8: true} // of a section
	for at := 8; at < len(whole); {
		at += 2 + int(whole[at+1]) // each is short
		ends[at] = true
	}
	for n := range whole {
		if _, err := rewrite.Outline(whole[:n]); err == nil && !ends[n] {
			t.Errorf("%d of %d bytes: got no error", n, len(whole))
		}
	}
}
