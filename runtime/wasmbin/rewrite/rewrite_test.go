package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// raw returns a module of sections, given as alternating IDs and contents.
func raw(parts ...any) []byte {
	out := []byte(w.Header)
	for i := 0; i < len(parts); i += 2 {
		out = append(out, w.Section(byte(parts[i].(int)), []byte(parts[i+1].(string)))...)
	}
	return out
}

// one returns a module of a function () -> () with this code, and a memory, a table and a mutable global.
func one(code ...[]byte) []byte {
	var m w.Module
	m.Memory(1, 1)
	m.Table(1, 1)
	m.Global(w.I32, 5)
	m.Export("f", m.Func(nil, nil, nil, code...))
	return m.Bytes()
}

// Indices that would refer to additions, and reserved names, are rejected.
func TestRewrite_refusesReservedNamesAndIndices(t *testing.T) {
	with := func(f func(m *w.Module)) []byte {
		var m w.Module
		m.Func(nil, nil, nil)
		f(&m)
		return m.Bytes()
	}
	const types, funcs, code = "\x01\x60\x00\x00", "\x01\x00", "\x01\x02\x00\x0b"
	for name, c := range map[string]struct {
		wasm []byte
		is   error
		want string
	}{
		"no module":          {[]byte("hello"), wasmbin.ErrNotWasm, "starts with"},
		"reserved import":    {with(func(m *w.Module) { m.ImportRaw(rewrite.Module, "x", 3, w.I32, 0) }), rewrite.ErrReserved, `imports "x" from "sallyport:engine"`},
		"reserved export":    {with(func(m *w.Module) { m.Export(rewrite.FuelGlobal, 0) }), rewrite.ErrReserved, `exports "sallyport:fuel"`},
		"call":               {one(w.Call(1)), wasmbin.ErrMalformed, "calls function 1 of 1"},
		"ref.func":           {one([]byte{0xd2, 1}, w.Drop), wasmbin.ErrMalformed, "function 1 is named"},
		"global.get":         {one(w.GlobalGet(1), w.Drop), wasmbin.ErrMalformed, "global 1 of 1"},
		"global.set":         {one(w.I64Const(0), w.GlobalSet(2)), wasmbin.ErrMalformed, "global 2 of 1"},
		"local":              {one(w.LocalGet(0), w.Drop), wasmbin.ErrMalformed, "local 0 of 0"},
		"local.tee":          {one(w.I64Const(0), []byte{0x22, 0}, w.Drop), wasmbin.ErrMalformed, "local 0 of 0"},
		"block type":         {one([]byte{0x02, 1}, w.End), wasmbin.ErrMalformed, "type 1 of 1"},
		"call_indirect":      {one(w.I32Const(0), []byte{0x11, 1, 0}), wasmbin.ErrMalformed, "type 1 of 1"},
		"branch":             {one(w.Br(1)), wasmbin.ErrMalformed, "branches out of itself"},
		"br_table":           {one(w.I32Const(0), []byte{0x0e, 1, 0, 1}), wasmbin.ErrMalformed, "branches out of itself"},
		"two ends":           {one(w.End), wasmbin.ErrMalformed, "does not end where its body does"},
		"no end":             {raw(1, types, 3, funcs, 10, "\x01\x02\x00\x01"), wasmbin.ErrMalformed, "does not end where its body does"},
		"typed call":         {one([]byte{0x14, 0}), wasmbin.ErrUnsupported, "instruction 0x14"},
		"locals":             {raw(1, types, 3, funcs, 10, "\x01\x08\x01\xff\xff\xff\xff\x0f\x7f\x0b"), wasmbin.ErrLimit, "locals"},
		"element":            {with(func(m *w.Module) { m.Table(1, 1); m.Elements(0, 1) }), wasmbin.ErrMalformed, "function 1 is named"},
		"export of a global": {with(func(m *w.Module) { m.ExportRaw("g", 3, 0) }), wasmbin.ErrMalformed, "global 0 of 0"},
		"start":              {with(func(m *w.Module) { m.Start(1) }), wasmbin.ErrMalformed, "the start function, 1"},
		"start's type":       {with(func(m *w.Module) { m.Start(m.Func([]byte{w.I32}, nil, nil)) }), wasmbin.ErrMalformed, "the start function, 1"},
		"start's reference":  {with(func(m *w.Module) { m.Start(0); m.Func(nil, nil, nil, []byte{0xd2, 0}, w.Drop) }), wasmbin.ErrMalformed, "not declared"},
		"data, no memory":    {with(func(m *w.Module) { m.Data(0, []byte("x")) }), wasmbin.ErrMalformed, "there is none"},
		"data offset, wide":  {raw(5, "\x01\x00\x01", 11, "\x01\x00\x42\x00\x0b\x00"), wasmbin.ErrUnsupported, "instruction 0x42"},
		"data offset, ratio": {raw(5, "\x01\x00\x01", 11, "\x01\x00\x41\x00\x41\x01\x6d\x0b\x00"), wasmbin.ErrUnsupported, "instruction 0x6d in a sum of constants"},
		"data offset, two":   {raw(5, "\x01\x00\x01", 11, "\x01\x00\x41\x00\x41\x00\x0b\x00"), wasmbin.ErrMalformed, "a constant of 2 values"},
		"data offset, sum":   {raw(5, "\x01\x00\x01", 11, "\x01\x00\x41\x00\x6a\x0b\x00"), wasmbin.ErrMalformed, "instruction 0x6a in a constant lacks two operands of its type"},
		"data offset, own":   {raw(5, "\x01\x00\x01", 6, "\x01\x7f\x00\x41\x00\x0b", 11, "\x01\x00\x23\x00\x0b\x00"), wasmbin.ErrMalformed, "which is not an imported constant"},
		"data memory 1":      {raw(5, "\x01\x00\x01", 11, "\x01\x02\x01\x41\x00\x0b\x00"), wasmbin.ErrMalformed, "for memory 1"},
		"data count":         {raw(5, "\x01\x00\x01", 12, "\x02", 11, "\x01\x00\x41\x00\x0b\x00"), wasmbin.ErrMalformed, "2 data segments are announced"},
		"data, more":         {raw(5, "\x01\x00\x01", 11, "\x01\x00\x41\x00\x0b\x00\x00"), wasmbin.ErrMalformed, "bytes too many"},
		"no code":            {raw(1, types, 3, funcs), wasmbin.ErrMalformed, "1 functions are declared but 0 have code"},
		"too much code":      {raw(1, types, 3, funcs, 10, "\x02\x02\x00\x0b\x02\x00\x0b"), wasmbin.ErrMalformed, "1 functions are declared but 2 have code"},
		"code, more":         {raw(1, types, 3, funcs, 10, code+"\x00"), wasmbin.ErrMalformed, "bytes too many"},
		"names":              {with(func(m *w.Module) { m.Custom("name", []byte{1, 2, 1, 0}) }), wasmbin.ErrTruncated, "name section"},
	} {
		out, info, err := rewriteWasm(c.wasm, both)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || out != nil || info != nil {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestRewrite_describesTheModule checks the contents of Info.
func TestRewrite_describesTheModule(t *testing.T) {
	imported := func(desc ...byte) []byte {
		var m w.Module
		m.ImportRaw("a", "b", desc...)
		return m.Bytes()
	}
	passive := func(id int, content string, code ...[]byte) []byte {
		body := w.Code(append(code, w.End)...)
		parts := []any{1, "\x01\x60\x00\x00", 3, "\x01\x00", 4, "\x01\x70\x00\x01", 5, "\x01\x00\x01"}
		if id == 9 {
			parts = append(parts, 9, content)
		} else {
			parts = append(parts, 12, "\x01")
		}
		parts = append(parts, 10, string(w.Code([]byte{1}, w.Bytes(append([]byte{0}, body...)))))
		if id == 11 {
			parts = append(parts, 11, content)
		}
		return raw(parts...)
	}
	zeros := w.Repeat(3, w.I32Const(0))
	null := []byte{0xd0, 0x70}
	for name, c := range map[string]struct {
		wasm       []byte
		uses       rewrite.Uses
		references bool
	}{
		"nothing":         {one(), rewrite.Uses{}, false},
		"table.set":       {one(w.I32Const(0), null, []byte{0x26, 0}), rewrite.Uses{TableWrite: true}, true},
		"table.get":       {one(w.I32Const(0), []byte{0x25, 0}, w.Drop), rewrite.Uses{}, false},
		"table.grow":      {one(null, w.I32Const(0), []byte{0xfc, 15, 0}, w.Drop), rewrite.Uses{TableWrite: true}, true},
		"table.fill":      {one(w.I32Const(0), null, w.I32Const(0), []byte{0xfc, 17, 0}), rewrite.Uses{TableWrite: true}, true},
		"table.copy":      {one(zeros, []byte{0xfc, 14, 0, 0}), rewrite.Uses{TableWrite: true}, true},
		"table.init":      {passive(9, "\x01\x01\x00\x01\x00", zeros, []byte{0xfc, 12, 0, 0}), rewrite.Uses{TableWrite: true}, true},
		"elem.drop":       {passive(9, "\x01\x01\x00\x01\x00", []byte{0xfc, 13, 0}), rewrite.Uses{ElemDrop: true}, true},
		"memory.init":     {passive(11, "\x01\x01\x02hi", zeros, []byte{0xfc, 8, 0, 0}), rewrite.Uses{MemoryInit: true}, false},
		"data.drop":       {passive(11, "\x01\x01\x02hi", []byte{0xfc, 9, 0}), rewrite.Uses{DataDrop: true}, true},
		"memory.grow":     {one(w.I32Const(0), w.MemoryGrow, w.Drop), rewrite.Uses{MemoryGrow: true}, false},
		"memory.copy":     {one(zeros, []byte{0xfc, 10, 0, 0}), rewrite.Uses{}, false},
		"a reference":     {raw(6, "\x01\x70\x01\xd0\x70\x0b"), rewrite.Uses{}, true},
		"a constant one":  {raw(6, "\x01\x70\x00\xd0\x70\x0b"), rewrite.Uses{}, false},
		"imported memory": {imported(2, 0, 1), rewrite.Uses{}, false},
		"imported table":  {imported(1, 0x70, 0, 1), rewrite.Uses{}, false},
		"their constant":  {imported(3, w.I32, 0), rewrite.Uses{}, false},
		"their global":    {imported(3, w.I32, 1), rewrite.Uses{}, false},
	} {
		for _, o := range []rewrite.Options{both, {Meter: true}, {Snapshot: true}, {Simplify: true}, {}} {
			out, info, err := rewriteWasm(c.wasm, o)
			if err != nil || info.Uses != c.uses || info.References() != (c.references && (o.Snapshot || info.Uses != rewrite.Uses{})) {
				t.Errorf("%s, %+v: got %+v, %v; want uses %+v, references %v", name, o, info, err, c.uses, c.references)
			} else if err := valid(t, out); err != nil {
				t.Errorf("%s, %+v: got %v, want no error", name, o, err)
			}
		}
	}
}

// valid returns the compiler's error for a module, nil if the module is valid.
func valid(t testing.TB, wasm []byte) error {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	_, err := r.CompileModule(ctx, wasm)
	return err
}

// Without options every section is unchanged.
func TestRewrite_withoutOptionsChangesNothing(t *testing.T) {
	wasm := w.Kernels()
	out, _, err := rewriteWasm(wasm, rewrite.Options{})
	if err != nil || !bytes.Equal(out, wasm) {
		t.Errorf("got %v and\n%x\nwant no error and\n%x", err, out, wasm)
	}
}

// A module is not rewritten twice.
func TestRewrite_refusesARewrittenModule(t *testing.T) {
	out, _, err := rewriteWasm(w.Kernels(), both)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := rewriteWasm(out, both); !errors.Is(err, rewrite.ErrReserved) {
		t.Errorf("got %v, want %v", err, rewrite.ErrReserved)
	}
}

// state returns a module with all parts of a snapshot: globals of every type, data, a start function.
func state() []byte {
	return raw(1, "\x02\x60\x00\x00\x60\x00\x02\x7f\x7e",
		2, "\x02\x03env\x04base\x03\x7f\x00\x03env\x04call\x00\x00",
		3, "\x03\x00\x01\x00",
		5, "\x01\x00\x01",
		6, "\x06\x7f\x01\x41\x07\x0b"+"\x7e\x01\x42\x08\x0b"+"\x7d\x01\x43\x00\x00\x80\x3f\x0b"+
			"\x7c\x01\x44\x00\x00\x00\x00\x00\x00\xf0\x3f\x0b"+
			"\x7b\x01\xfd\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x0b"+
			"\x7f\x00\x41\x09\x0b",
		7, "\x02\x03two\x00\x02\x01m\x02\x00",
		8, "\x03",
		10, "\x03\x02\x00\x0b"+"\x0e\x00\x10\x00\x03\x7f\x23\x01\x42\x05\x0f\x0b\x42\x06\x0b"+"\x0b\x00\x41\x64\x41\x2a\x36\x00\x00\x10\x00\x0b",
		11, "\x02\x00\x41\x7f\x0b\x01z\x00\x23\x00\x0b\x02hi",
		0, "\x04name\x01\x07\x02\x00\x01h\x02\x01t\x02\x06\x01\x02\x01\x00\x01l")
}

// TestRewrite_exportsTheStateToSnapshot checks Info and the exports of the module.
func TestRewrite_exportsTheStateToSnapshot(t *testing.T) {
	out, info, err := rewriteWasm(state(), both)
	if err != nil {
		t.Fatal(err)
	}
	want := []rewrite.Global{{Type: w.I32, Export: "sallyport:global.1"}, {Type: w.I64, Export: "sallyport:global.2"},
		{Type: w.F32, Export: "sallyport:global.3"}, {Type: w.F64, Export: "sallyport:global.4"},
		{Type: w.V128, Get: "sallyport:global.5.get", Set: "sallyport:global.5.set"}}
	if len(info.Globals) != len(want) {
		t.Fatalf("got globals %+v, want %+v", info.Globals, want)
	}
	for i, g := range info.Globals {
		if g != want[i] {
			t.Errorf("global %d: got %+v, want %+v", i, g, want[i])
		}
	}
	if d := info.Data; len(d) != 2 || d[0].Offset != 1<<32-1 || string(d[0].Bytes) != "z" || d[0].From != nil ||
		d[1].From == nil || d[1].From.Name != "base" || string(d[1].Bytes) != "hi" {
		t.Errorf("got data %+v, want \"z\" at the end of the memory and \"hi\" at base", d)
	}
	b, err := wasmbin.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if b.Start || info.Start != rewrite.StartExport {
		t.Errorf("got start section %v, start %q; want false, %q", b.Start, info.Start, rewrite.StartExport)
	}
	if x, _ := b.Export(rewrite.StartExport); x.Index != 4 { // was 3
		t.Errorf("got start %+v, want function 4", x)
	}
	if names, _ := b.CustomSection("name"); string(names) != "\x01\x07\x02\x00\x01h\x03\x01t" {
		t.Errorf("names: got %x, want %x", names, "\x01\x07\x02\x00\x01h\x03\x01t")
	}
}

// The accessors carry all 128 bits, and multiple results pass the block around a body.
func TestRewrite_carriesWholeVectors(t *testing.T) {
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(ctx)
	var env w.Module
	env.ExportRaw("base", 3, 0)
	env.Export("call", env.Func(nil, nil, nil))
	base := bytes.Replace(env.Bytes(), []byte("\x07\x0f\x02"), []byte("\x06\x06\x01\x7f\x00\x41\x0a\x0b\x07\x0f\x02"), 1)
	if _, err := h.InstantiateWithConfig(ctx, base, wazero.NewModuleConfig().WithName("env")); err != nil {
		t.Fatalf("instantiate: got %v, want no error\n%x", err, base)
	}
	wasm := bytes.Replace(state(), []byte("\x41\x7f\x0b\x01z"), []byte("\x41\x05\x0b\x01z"), 1) // within the memory
	wasm = bytes.Replace(wasm, []byte("\x0b\x00\x41\x64"), []byte("\x0b\x00\x41\x14"), 1)
	g, err := h.load(ctx, wasm, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	v := g.info.Globals[4]
	if r, err := g.ExportedFunction(v.Get).Call(ctx); err != nil || r[0] != 0x0807060504030201 || r[1] != 0x100f0e0d0c0b0a09 {
		t.Errorf("initial vector: got %x, %v; want 0807060504030201, 100f0e0d0c0b0a09", r, err)
	}
	if _, err := g.ExportedFunction(v.Set).Call(ctx, 1<<63|5, 7); err != nil {
		t.Error(err)
	}
	if r, err := g.ExportedFunction(v.Get).Call(ctx); err != nil || r[0] != 1<<63|5 || r[1] != 7 {
		t.Errorf("vector after its set: got %x, %v; want 8000000000000005, 7", r, err)
	}
	if r, err := g.ExportedFunction("two").Call(ctx); err != nil || r[0] != 7 || r[1] != 5 {
		t.Errorf("two: got %x, %v; want 7, 5", r, err)
	}
	if d := g.ExportedGlobal(rewrite.DepthGlobal).Get(); d != maxDepth {
		t.Errorf("depth after a return inside of a loop: got %d, want %d", d, maxDepth)
	}
	if p, _ := g.Memory().Read(10, 2); string(p) != "hi" {
		t.Errorf("data at the imported offset: got %q, want \"hi\"", p)
	}
	if n, _ := g.Memory().ReadUint32Le(20); n != 42 {
		t.Errorf("written by the start function: got %d, want 42", n)
	}
}

// A file with nothing but events takes a few times its size.
func TestRewrite_boundsItsMemory(t *testing.T) {
	var m w.Module
	typ := m.Type(nil, nil)
	for range 20 {
		m.FuncRaw(typ, []byte{0}, w.Repeat(100_000, w.Call(0)), w.End)
	}
	wasm := m.Bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := rewriteWasm(wasm, both); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10*uint64(len(wasm)) {
		t.Errorf("got %d bytes allocated for a file of %d, want at most 10 times as many", n, len(wasm))
	}
}
