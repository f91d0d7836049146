package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// shownPrepared formats everything of a prepared module; lists without elements look alike.
func shownPrepared(t *testing.T, p *prepared) string {
	t.Helper()
	raw, err := json.Marshal([]any{p.facts, p.data, p.outline})
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("null", "[]", `""`, "[]", "{}", "[]").Replace(string(raw))
}

func TestPrepared_keepsEveryFact(t *testing.T) {
	e, err := NewEngine(t.Context(), &EngineOptions{CacheDir: t.TempDir(), Host: []HostFunc{{Module: "host", Name: "f", Params: []ValueType{I32}, Results: []ValueType{I64}}}})
	if err != nil {
		t.Fatal(err)
	}
	var m w.Module
	m.Import("host", "f", []byte{w.I32}, []byte{w.I64})
	m.Memory(1, 2)
	m.Table(3, 9)
	m.Global(w.I32, 7)
	m.Global(w.I64, -1)
	m.Data(0, []byte("first"))
	m.Data(70, nil)
	m.Data(3, []byte("over the first"))
	m.Custom(wasmbin.CommandSection, []byte("for a dialect"))
	start := m.Func(nil, nil, nil)
	m.Start(start)
	m.Export("", m.Func([]byte{w.I32}, []byte{w.I32}, nil, w.I32Const(5)))
	for name, wasm := range map[string][]byte{"everything": m.Bytes(), "nothing": empty} {
		before, err := e.prepare(wasm, "")
		if err != nil {
			t.Fatal(name, err)
		}
		raw, err := before.encode()
		if err != nil {
			t.Fatal(name, err)
		}
		after, err := decodePrepared(raw, before.outline)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, want := shownPrepared(t, after), shownPrepared(t, before); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Compilers of Go write data in tens of thousands of segments, and a host decodes them before its first call.
func TestDecodePrepared_allocatesNothingForASegment(t *testing.T) {
	from := wasmbin.Import{Module: "host", Name: "g"}
	p := &prepared{facts: facts{Exports: exports{}}, data: make([]rewrite.Data, 5000)}
	for i := range p.data {
		p.data[i] = rewrite.Data{Offset: uint32(i), Bytes: []byte{byte(i), byte(i >> 8)}}
	}
	p.data[4321].From = &from
	raw, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	after, err := decodePrepared(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(after.data, p.data) {
		t.Error("the segments differ")
	}
	if n := testing.AllocsPerRun(3, func() { _, _ = decodePrepared(raw, nil) }); n > 2000 {
		t.Errorf("got %v objects for %d segments", n, len(p.data))
	}
}

// An index of no segment is only in bytes that encode did not write.
func TestDecodePrepared_refusesAnImportOfNoSegment(t *testing.T) {
	var head bytes.Buffer
	if err := gob.NewEncoder(&head).Encode(&facts{From: map[int]wasmbin.Import{7: {Name: "g"}}}); err != nil {
		t.Fatal(err)
	}
	raw := append(binary.LittleEndian.AppendUint32(nil, uint32(head.Len())), head.Bytes()...)
	if _, err := decodePrepared(raw, nil); err == nil {
		t.Error("an import of a missing segment was accepted")
	}
}

func TestDecodePrepared_reportsCutOffBytes(t *testing.T) {
	p := &prepared{facts: facts{Exports: exports{}}}
	raw, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range raw {
		if _, err := decodePrepared(raw[:n], nil); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(raw))
		}
	}
}

func TestEngine_keepsNothingWithoutAVersion(t *testing.T) {
	dir := t.TempDir()
	e, err := NewEngine(t.Context(), &EngineOptions{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	e.version = ""
	m, err := e.Compile(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "modules")); err == nil {
		t.Errorf("got %d files, want no folder", len(left))
	}
}
