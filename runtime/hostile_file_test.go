package runtime_test

import (
	"strings"

	"bytes"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// b returns raw bytes of code.
func b(p ...byte) []byte { return p }

// times applies add to a module n times.
func times(n int, add func(m *w.Module)) []byte {
	var m w.Module
	for range n {
		add(&m)
	}
	return m.Bytes()
}

// body returns a module of one function () -> () with these locals and code.
func body(locals []byte, parts ...[]byte) []byte {
	var m w.Module
	m.Export("run", m.FuncRaw(m.Type(nil, nil), locals, append(parts, w.End)...))
	return m.Bytes()
}

// sections returns a module of sections, given as pairs of ID and content.
func sections(parts ...any) []byte {
	out := []byte(w.Header)
	for i := 0; i < len(parts); i += 2 {
		out = append(out, w.Section(byte(parts[i].(int)), []byte(parts[i+1].(string)))...)
	}
	return out
}

// functions returns a module of n empty functions.
func functions(n int) []byte {
	count := w.U32(uint32(n))
	return sections(1, "\x01\x60\x00\x00", 3, string(append(count, make([]byte, n)...)),
		10, string(w.Code(count, bytes.Repeat([]byte{2, 0, 0x0b}, n))))
}

// hostileFiles returns files that are rejected: compiler bombs and invalid modules.
func hostileFiles() []attack {
	none := b(0)
	locals := func(n uint32) []byte { return w.Code(b(1), w.U32(n), b(w.I32)) }
	brTable := func(n int) []byte { return w.Code(w.I32Const(0), b(0x0e), w.U32(uint32(n)), make([]byte, n+1)) }
	nest := func(n int, inside ...[]byte) []byte {
		return w.Code(w.Repeat(n, w.BlockVoid), w.Code(inside...), w.Repeat(n, w.End))
	}
	var storm w.Module
	storm.Func(nil, nil, nil, nest(4000, w.Repeat(15, brTable(16_000))))
	var names w.Module
	names.Custom("name", w.Code(b(1), w.Bytes(w.U32(4_000_000_000))))
	var past w.Module
	past.Export("run", past.Func(nil, nil, nil, w.Call(7)))
	const limit = "refused: over a static limit: "
	return []attack{
		{name: "300 M locals in 33 bytes", wasm: body(locals(300_000_000)), want: limit + "the number of locals of function 0 (at offset 31) is 300000000, at most 10000 is allowed"},
		{name: "50,000 locals", wasm: body(locals(50_000)), want: limit + "the number of locals of function 0 (at offset 31) is 50000, at most 10000 is allowed"},
		{name: "10,000 nested blocks", wasm: with(world(nest(10_000), w.I32Const(1)), func(*w.Module) {}), want: "answer 1", calls: 2},
		{name: "20,000 nested blocks", wasm: body(none, nest(20_000)), want: limit + "the work to compile it, up to and with the code of function 0…"},
		{name: "60,000 nested blocks", wasm: body(none, nest(60_000)), want: limit + "the nesting of function 0 (at offset 35) is 50001, at most 50000 is allowed"},
		{name: "a fan of 4,000 branches", wasm: body(locals(500), w.BlockVoid, w.Repeat(4000, w.I32Const(0), w.BrIf(0)), w.End, w.Repeat(500, w.LocalGet(7), w.Drop)), want: limit + "the work to compile it, up to and with the code of function 0…"},
		{name: "1,000,000 functions", wasm: functions(1_000_000), want: limit + "the number of functions is 1000000, at most 100000 is allowed"},
		{name: "a basic block of 10 MB", wasm: body(none, w.Repeat(2_500_000, w.I32Const(1), w.Drop, b(0x01))), want: limit + "the number of code bytes of function 0 (at offset 37) is 10000002, at most 1000000 is allowed"},
		{name: "br_table of 20,000", wasm: body(none, brTable(20_000)), want: limit + "the number of targets of a br_table of function 0 (at offset 35) is 20000, at most 16384 is allowed"},
		{name: "20,000 branches", wasm: body(none, w.Repeat(20_000, w.I32Const(0), w.BrIf(0))), want: limit + "the number of branches of function 0 (at offset 35) is 20000, at most 16384 is allowed"},
		{name: "storm of nested br_tables", wasm: storm.Bytes(), want: limit + "the work to compile it, up to and with the code of function 0…"},
		{name: "100,000 types", wasm: times(100_000, func(m *w.Module) { m.Type(nil, nil) }), want: limit + "the number of types is 100000, at most 10000 is allowed"},
		{name: "5,000 parameters", wasm: times(1, func(m *w.Module) { m.Type(bytes.Repeat(b(w.I32), 5000), nil) }), want: limit + "the number of parameters or results of type 0 is 5000, at most 1000 is allowed"},
		{name: "17 tables", wasm: times(17, func(m *w.Module) { m.Table(0, 0) }), want: limit + "the number of tables is 17, at most 16 is allowed"},
		{name: "a table of 4 G entries", wasm: sections(4, "\x01\x70\x00\xff\xff\xff\xff\x0f"), want: limit + "the number of table entries is 4294967295, at most 1000000 is allowed"},
		{name: "table.grow without an end", wasm: growing(w.None), want: "answer 1000000"},
		{name: "table.grow to 4 G", wasm: growing(2_000_000_000), want: "answer 1000000"},
		{name: "4 GiB at start", wasm: times(1, func(m *w.Module) { m.Memory(65536, w.None) }), want: limit + "the memory at start in bytes is 4294967296, at most 4294901760 is allowed"},
		{name: "200,000 globals", wasm: times(200_000, func(m *w.Module) { m.Global(w.I32, 0) }), want: limit + "the number of globals is 200000, at most 100000 is allowed"},
		{name: "200,000 data segments", wasm: times(200_000, func(m *w.Module) { m.Data(0, nil) }), want: limit + "the number of data segments is 200000, at most 100000 is allowed"},
		{name: "200,000 element segments", wasm: times(200_000, func(m *w.Module) { m.Elements(0) }), want: limit + "the number of element segments is 200000, at most 100000 is allowed"},
		{name: "20,000 imports", wasm: times(20_000, func(m *w.Module) { m.ImportRaw("a", "b", 3, w.I32, 0) }), want: limit + "20000 imports, at most 10000 are allowed"},
		{name: "20,000 custom sections", wasm: times(20_000, func(m *w.Module) { m.Custom("", nil) }), want: limit + "more than 10000 sections"},
		{name: "names that are not there", wasm: names.Bytes(), want: "refused: truncated WebAssembly module: the name section claims 4000000000 entries at offset 0 but 0 bytes are left"},
		{name: "a section of 4 GiB", wasm: []byte(w.Header + "\x0a\xff\xff\xff\xff\x0f"), want: "refused: truncated WebAssembly module: …"},
		{name: "a function that is not there", wasm: past.Bytes(), want: "refused: malformed WebAssembly module: function 0 calls function 7 of 1"},
		{name: "an export that is not there", wasm: sections(7, "\x01\x03run\x00\x09"), want: `refused: malformed WebAssembly module: the export "run" names function 9 of 0`},
		{name: "wrong types", wasm: body(none, w.I64Const(0), w.I32Eqz, w.Drop), want: "refused: compile: …"},
		{name: "a missing end", wasm: sections(1, "\x01\x60\x00\x00", 3, "\x01\x00", 10, "\x01\x04\x00\x02\x40\x0b"), want: "refused: malformed WebAssembly module: function 0 does not end where its body does, at offset 26"},
		{name: "shared memory", wasm: sections(5, "\x01\x03\x01\x01"), want: "refused: unsupported WebAssembly feature: shared or 64-bit memory (limits flag 0x3 at offset 11)"},
		{name: "two memories", wasm: sections(5, "\x02\x00\x01\x00\x01"), want: "refused: unsupported WebAssembly feature: 2 memories, only one is allowed"},
		{name: "an imported tag", wasm: sections(1, "\x01\x60\x00\x00", 2, "\x01\x01h\x01t\x04\x00\x00"), want: "refused: unsupported WebAssembly feature: the imported tag h.t at offset 22"},
		{name: "a typed call", wasm: body(none, b(0x14, 0)), want: "refused: unsupported WebAssembly feature: instruction 0x14 at offset 32"},
		{name: "an atomic instruction", wasm: body(none, b(0xfe, 3, 0)), want: "refused: unsupported WebAssembly feature: instruction 0xfe at offset 32"},
		{name: "a name of the host's own", wasm: times(1, func(m *w.Module) { m.Memory(1, 1); m.ExportRaw("sallyport:fuel", 2, 0) }), want: `refused: reserved name: the module exports "sallyport:fuel"`},
		{name: "a function of the host's own", wasm: times(1, func(m *w.Module) { m.Import("sallyport:engine", "refill", nil, []byte{w.I64}) }), want: "refused: missing imports: this host does not offer sallyport:engine.refill"},
		{name: "8,000 loops", wasm: body(none, w.Repeat(8000, w.LoopVoid, w.End)), want: limit + "the work to compile it, up to and with the code of function 0…"},
		{name: "8,000 fills", wasm: times(1, func(m *w.Module) {
			m.Memory(1, 1)
			m.Func(nil, nil, nil, w.Repeat(8000, numbers(0, 0, 0), b(0xfc, 11, 0)))
		}), want: limit + "the work to compile it, up to and with the code of function 0…"},
		{name: "an import of nobody's", wasm: times(1, func(m *w.Module) { m.Import("env", "system", []byte{w.I32}, nil) }), want: "refused: missing imports: this host does not offer env.system"},
		{name: "an import's long name", wasm: times(1, func(m *w.Module) { m.Import("env", strings.Repeat("x", 100_000), nil, nil) }), want: "refused: missing imports: this host does not offer env." + strings.Repeat("x", 100) + "…"},
		{name: "an import's odd name", wasm: times(1, func(m *w.Module) { m.Import("env", "a\n\u202eb", nil, nil) }), want: `refused: missing imports: this host does not offer env."a\n\u202eb"`},
		{name: "an import of another type", wasm: times(1, func(m *w.Module) { m.Import("h", "f", []byte{w.I64}, nil) }), want: "refused: missing imports: this host does not offer h.f as (i64) -> () (it is () -> i32)"},
		{name: "an imported memory", wasm: times(1, func(m *w.Module) { m.ImportRaw("h", "memory", 2, 0, 1) }), want: "refused: missing imports: this host does not offer h.memory (a memory)"},
	}
}

// growing returns a module whose table grows to its maximum.
func growing(max int) []byte {
	var m w.Module
	m.Table(1, max)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.LoopVoid, b(0xd0, 0x70), w.I32Const(1), b(0xfc, 15, 0), w.I32Const(1), w.I32Add, w.BrIf(0), w.End,
		b(0xfc, 16, 0)))
	return m.Bytes()
}
