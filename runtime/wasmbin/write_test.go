package wasmbin_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

func TestSetCustomSection_replacesOrAppends(t *testing.T) {
	before := sample()
	for _, name := range []string{wasmbin.ManifestSection, "one", "new", ""} {
		after, err := wasmbin.SetCustomSection(before, name, []byte("data of "+name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := wasmbin.Read(after)
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := b.CustomSection(name); !ok || string(data) != "data of "+name {
			t.Errorf("%s: got %q, want %q", name, data, "data of "+name)
		}
		if again, _ := wasmbin.SetCustomSection(after, name, []byte("data of "+name)); !bytes.Equal(again, after) {
			t.Errorf("%s: a second time changes the file", name)
		}
		sameElsewhere(t, before, after, name)
	}
}

func TestSetCustomSection_removesDoubles(t *testing.T) {
	var m w.Module
	m.Custom("a", []byte("1"))
	m.Custom("b", []byte("2"))
	m.Custom("a", []byte("3"))
	after, err := wasmbin.SetCustomSection(m.Bytes(), "a", []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	var want w.Module
	want.Custom("a", []byte("new"))
	want.Custom("b", []byte("2"))
	if !bytes.Equal(after, want.Bytes()) {
		t.Errorf("got % x, want % x", after, want.Bytes())
	}
}

func TestSetCustomSection_refusesOtherFiles(t *testing.T) {
	if _, err := wasmbin.SetCustomSection([]byte("hello"), "a", nil); !errors.Is(err, wasmbin.ErrNotWasm) {
		t.Errorf("got %v, want %v", err, wasmbin.ErrNotWasm)
	}
}

// sameElsewhere fails if any section except the custom one of this name differs.
func sameElsewhere(t *testing.T, before, after []byte, name string) {
	t.Helper()
	if a, b := others(t, before, name), others(t, after, name); !slices.EqualFunc(a, b, bytes.Equal) {
		t.Errorf("other sections have changed:\n% x\n% x", a, b)
	}
}

// others splits a module into its sections independently, without the custom ones of a name.
func others(t *testing.T, wasm []byte, name string) (out [][]byte) {
	t.Helper()
	for p := 8; p < len(wasm); {
		begin, size, shift := p, 0, 0
		for p++; ; p++ {
			size |= int(wasm[p]&0x7f) << shift
			shift += 7
			if wasm[p] < 0x80 {
				p++
				break
			}
		}
		content := wasm[p : p+size]
		p += size
		if wasm[begin] == 0 {
			n, used := binary.Uvarint(content) // also for a length in a longer encoding than needed
			if string(content[used:used+int(n)]) == name {
				continue
			}
		}
		out = append(out, wasm[begin:p])
	}
	return out
}

func FuzzRead(f *testing.F) {
	f.Add(sample(), "one", []byte("x"))
	f.Add([]byte(w.Header), "", []byte(nil))
	f.Add(code([]byte{1, 1, w.V128}, w.LoopVoid, w.Br(0), w.End), "name", []byte{1, 2, 3})
	f.Add(append([]byte(w.Header), 0, 0x83, 0x80, 0, 1, 'a', 7), "a", []byte("longer size than needed"))
	f.Add(w.Kernels(), "name", []byte("of the kernels"))
	for _, s := range w.Spellings() {
		if s.Same {
			f.Add(spelled(s.Odd), "", []byte(nil))
		}
	}
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"), "a", []byte("component"))
	f.Fuzz(func(t *testing.T, wasm []byte, name string, data []byte) {
		b, err := wasmbin.Read(wasm)
		if err != nil {
			return
		}
		if anew, err := wasmbin.Check(b, wasmbin.Limits{}); err == nil {
			sameAnew(t, wasm, anew)
		}
		after, err := wasmbin.SetCustomSection(wasm, name, data)
		if !utf8.ValidString(name) {
			if !errors.Is(err, wasmbin.ErrMalformed) {
				t.Fatalf("got %v, want %v", err, wasmbin.ErrMalformed)
			}
			return
		}
		if errors.Is(err, wasmbin.ErrLimit) { // one section too many
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := wasmbin.Read(after)
		if err != nil {
			t.Fatal(err)
		}
		sameElsewhere(t, wasm, after, name)
		if got, _ := c.CustomSection(name); !bytes.Equal(got, data) {
			t.Fatalf("%q became %q", data, got)
		}
	})
}
