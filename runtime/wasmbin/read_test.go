package wasmbin_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// sample returns a module with a bit of everything.
func sample() []byte {
	var m w.Module
	m.Import("env", "f", []byte{w.I32, w.I64}, []byte{w.F32})
	m.ImportRaw("env", "g", 3, w.I64, 0)
	m.Memory(2, 5)
	m.Table(1, w.None)
	m.Global(w.I32, 7)
	f := m.Func([]byte{w.F64}, []byte{w.I32}, []byte{w.I32, w.I64}, w.I32Const(42))
	m.Export("answer", f)
	m.ExportRaw("memory", 2, 0)
	m.Elements(0, f)
	m.Data(8, []byte("hello"))
	m.Custom("one", []byte{1, 2, 3})
	m.Custom(wasmbin.ManifestSection, []byte(`{"name":"x"}`))
	return m.Bytes()
}

func TestRead_parsesTheHead(t *testing.T) {
	b, err := wasmbin.Read(sample())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Imports) != 2 || b.Imports[0].Module != "env" || b.Imports[0].Name != "f" || b.Imports[1].Kind != wasmbin.Global {
		t.Errorf("got imports %+v, want env.f and a global", b.Imports)
	}
	if !bytes.Equal(b.Imports[0].Params, []byte{w.I32, w.I64}) || !bytes.Equal(b.Imports[0].Results, []byte{w.F32}) {
		t.Errorf("type of the import: got %x -> %x, want (i32, i64) -> f32", b.Imports[0].Params, b.Imports[0].Results)
	}
	x, ok := b.Export("answer")
	if !ok || x.Index != 1 || !bytes.Equal(x.Params, []byte{w.F64}) || !bytes.Equal(x.Results, []byte{w.I32}) {
		t.Errorf("export: got %+v, %v; want function 1 of f64 -> i32, true", x, ok)
	}
	if b.HasExport("memory") || !b.HasExport("answer") || b.HasExport("") {
		t.Errorf("HasExport of memory, answer and no name: got %v, %v, %v; want false, true, false", b.HasExport("memory"), b.HasExport("answer"), b.HasExport(""))
	}
	if !b.ImportsModule("env") || b.ImportsModule("f") {
		t.Errorf("ImportsModule of env and f: got %v, %v; want true, false", b.ImportsModule("env"), b.ImportsModule("f"))
	}
	if b.Memory == nil || *b.Memory != (wasmbin.Range{Min: 2, Max: 5}) {
		t.Errorf("got memory %v, want 2 to 5 pages", b.Memory)
	}
	if data, ok := b.CustomSection(wasmbin.ManifestSection); !ok || string(data) != `{"name":"x"}` {
		t.Errorf("manifest: got %q, %v; want %q, true", data, ok, `{"name":"x"}`)
	}
	if data, ok := b.CustomSection("two"); ok {
		t.Errorf("CustomSection(two): got %q, want none", data)
	}
	if b.Funcs != 1 || len(b.Tables) != 1 || b.Tables[0].Max != wasmbin.Unbounded || b.Start {
		t.Errorf("got %d functions, tables %v, start %v; want 1, an unbounded one, false", b.Funcs, b.Tables, b.Start)
	}
	if _, err := wasmbin.Check(b, wasmbin.Limits{}); err != nil {
		t.Error(err)
	}
}

// TestRead_explainsFilesThatAreNoModules checks the error messages for files that are not modules.
func TestRead_explainsFilesThatAreNoModules(t *testing.T) {
	head := w.Header
	for name, c := range map[string]struct {
		wasm string
		want string
		is   error
	}{
		"empty":     {"", "not a WebAssembly module: the file is empty", wasmbin.ErrNotWasm},
		"elf":       {"\x7fELF\x02\x01", "not a WebAssembly module: starts with 7f 45 4c 46", wasmbin.ErrNotWasm},
		"short":     {"MZ", "not a WebAssembly module: starts with 4d 5a", wasmbin.ErrNotWasm},
		"component": {"\x00asm\x0d\x00\x01\x00", "this is a WebAssembly component; build a core module instead (target wasm32-wasip1 rather than wasm32-wasip2, and no componentize step)", wasmbin.ErrComponent},
		"version":   {"\x00asm\x02\x00\x00\x00", "this version of the WebAssembly format is not supported, only version 1: the version is 02 00 00 00", wasmbin.ErrVersion},
		"header":    {head[:6], "truncated WebAssembly module: the header ends at offset 6", wasmbin.ErrTruncated},
		"section":   {head + "\x01\x7f\x00", "truncated WebAssembly module: the type section at offset 8 says 127 bytes but 1 are left", wasmbin.ErrTruncated},
		"no size":   {head + "\x01", "truncated WebAssembly module: the list of sections ends too early at offset 9", wasmbin.ErrTruncated},
		"claim":     {head + "\x01\x05\xff\xff\xff\xff\x0f", "truncated WebAssembly module: the type section claims 4294967295 entries at offset 10 but 0 bytes are left", wasmbin.ErrTruncated},
		"order":     {head + "\x02\x01\x00\x01\x01\x00", "malformed WebAssembly module: the type section at offset 11 is unknown, doubled or out of order", wasmbin.ErrMalformed},
		"unknown":   {head + "\x63\x00", "malformed WebAssembly module: the section with id 99 at offset 8 is unknown, doubled or out of order", wasmbin.ErrMalformed},
		"surplus":   {head + "\x01\x02\x00\x00", "malformed WebAssembly module: the type section has 1 bytes too many at offset 11", wasmbin.ErrMalformed},
		"number":    {head + "\x01\x06\xff\xff\xff\xff\x7f\x00", "malformed WebAssembly module: the type section holds a number over 32 bits at offset 10", wasmbin.ErrMalformed},
		"name":      {head + "\x00\x03\x02\xff\xfe", "malformed WebAssembly module: the custom section holds a name that is not UTF-8 at offset 10", wasmbin.ErrMalformed},
		"gc type":   {head + "\x01\x04\x01\x5f\x00\x00", "unsupported WebAssembly feature: a type of form 0x5f at offset 11", wasmbin.ErrUnsupported},
		"gc value":  {head + "\x01\x06\x01\x60\x02\x7f\x63\x00", "unsupported WebAssembly feature: a value of type 0x63 at offset 14", wasmbin.ErrUnsupported},
		"gc global": {head + "\x02\x09\x01\x01a\x01b\x03\x63\x70\x00", "unsupported WebAssembly feature: a value of type 0x63 at offset 16", wasmbin.ErrUnsupported},
		"memory64":  {head + "\x05\x03\x01\x04\x01", "unsupported WebAssembly feature: shared or 64-bit memory (limits flag 0x4 at offset 11)", wasmbin.ErrUnsupported},
		"memories":  {head + "\x05\x05\x02\x00\x01\x00\x01", "unsupported WebAssembly feature: 2 memories, only one is allowed", wasmbin.ErrUnsupported},
		"exception": {head + "\x02\x08\x01\x01a\x01b\x04\x00\x00", "unsupported WebAssembly feature: the imported tag a.b at offset 16", wasmbin.ErrUnsupported},
		"tag":       {head + "\x0d\x03\x01\x01\x00", "unsupported WebAssembly feature: the tag section has 0x1 at offset 11, where only 0 is allowed", wasmbin.ErrUnsupported},
		"tag type":  {head + "\x01\x05\x01\x60\x00\x01\x7f\x0d\x03\x01\x00\x00", "malformed WebAssembly module: tag 0 has a type with results before offset 20", wasmbin.ErrMalformed},
		"tags":      {head + "\x0d\x03\xff\xff\x3f", "truncated WebAssembly module: the tag section claims 1048575 entries at offset 10 but 0 bytes are left", wasmbin.ErrTruncated},
		"export":    {head + "\x07\x05\x01\x01f\x00\x03", `malformed WebAssembly module: the export "f" names function 3 of 0`, wasmbin.ErrMalformed},
		"import":    {head + "\x02\x07\x01\x01a\x01b\x00\x05", "malformed WebAssembly module: the import section names type 5 of 0 before offset 17", wasmbin.ErrMalformed},
	} {
		_, err := wasmbin.Read([]byte(c.wasm))
		if err == nil || err.Error() != c.want || !errors.Is(err, c.is) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

// A file that is still being copied is never accepted as complete.
func TestRead_refusesEveryIncompleteFile(t *testing.T) {
	whole := sample()
	ends := map[int]bool{} // a file may end between two sections
	for end := range whole {
		b, err := wasmbin.Read(whole[:end])
		if err == nil {
			ends[end] = true
			continue
		}
		if end > 0 && !errors.Is(err, wasmbin.ErrTruncated) && !errors.Is(err, wasmbin.ErrNotWasm) && !errors.Is(err, wasmbin.ErrMalformed) {
			t.Errorf("%d bytes: got %v, %v; want truncated, not wasm or malformed", end, b, err)
		}
	}
	if len(ends) > 12 {
		t.Errorf("got %d of %d prefixes accepted, want at most 12", len(ends), len(whole))
	}
}

func TestRead_refusesExcessiveCounts(t *testing.T) {
	var imports, sections w.Module
	for range 10_001 {
		imports.ImportRaw("a", "b", 3, w.I32, 0)
		sections.Custom("", nil)
	}
	for name, wasm := range map[string][]byte{"10001 imports": imports.Bytes(), "10000 sections": sections.Bytes()} {
		if _, err := wasmbin.Read(wasm); !errors.Is(err, wasmbin.ErrLimit) || !strings.Contains(err.Error(), name[:4]) {
			t.Errorf("%s: got %v, want %v with the number", name, err, wasmbin.ErrLimit)
		}
	}
}

// Read accepts code that Check refuses, since it does not look at it.
func TestRead_skipsTheCode(t *testing.T) {
	var m w.Module
	typ := m.Type(nil, nil)
	for range 3000 {
		m.FuncRaw(typ, []byte{0xff}, w.Repeat(500, []byte{0xff}))
	}
	m.Data(0, make([]byte, 64<<10))
	wasm := append(m.Bytes(), w.Section(0, append(w.Name("pad"), make([]byte, 1<<20)...))...)
	b, err := wasmbin.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wasmbin.Check(b, wasmbin.Limits{}); err == nil {
		t.Error("Check of code that is no code: got no error, want one")
	}
	if n := testing.AllocsPerRun(5, func() { _, _ = wasmbin.Read(wasm) }); n > 40 {
		t.Errorf("got %v allocations, want at most 40", n)
	}
}

func TestKind_hasAName(t *testing.T) {
	for k, want := range map[wasmbin.Kind]string{0: "function", 1: "table", 2: "memory", 3: "global", 4: "tag", 9: "unknown"} {
		if k.String() != want {
			t.Errorf("Kind(%d): got %s, want %s", k, k, want)
		}
	}
}
