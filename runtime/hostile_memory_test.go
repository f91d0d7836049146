package runtime_test

import (
	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// hostileMemory returns guests that exhaust memory, and the time to fill it.
func hostileMemory() []attack {
	answer := w.I32Const(1)
	grow := w.Code(w.LoopVoid, w.I32Const(1), w.MemoryGrow, w.I32Const(1), w.I32Add, w.BrIf(0), w.End)
	touch := func(pages int32) []byte { // writes a byte of each page, with global 0 as counter
		return counted(pages, w.GlobalGet(0), w.I32Const(65536), b(0x6c), w.I32Const(1), w.I32Store(0))
	}
	max := w.Code(w.I32Const(255), w.MemoryGrow, w.Drop)
	fill := w.Code(w.I32Const(0), w.I32Const(7), w.I32Const(16<<20), b(0xfc, 11, 0))
	half := w.Code(w.I32Const(0), w.I32Const(8<<20), w.I32Const(8<<20), b(0xfc, 10, 0, 0))
	start := func(pages int) *w.Module {
		var m w.Module
		m.Memory(pages, w.None)
		m.Export("run", m.Func(nil, []byte{w.I32}, nil, answer))
		return &m
	}
	filling := func(m *w.Module) {
		m.Func(nil, nil, nil, fill)
	}
	quarter := runtime.Limits{Memory: 256 << 20}
	return []attack{
		{name: "memory to the limit", wasm: world(grow, w.MemorySize).Bytes(), want: "answer 256", calls: 3},
		{name: "memory beyond the limit", wasm: world(w.I32Const(65535), w.MemoryGrow).Bytes(), want: "answer -1"},
		{name: "gives up without memory", wasm: world(grow, w.Unreachable).Bytes(), want: "trap: the guest trapped: unreachable, after it was refused more than 16 MiB of memory (limits.memory)"},
		{name: "grows for ever", wasm: world(loop(w.I32Const(1), w.MemoryGrow, w.Drop)).Bytes(), want: late},
		{name: "references for ever", wasm: with(world(loop(b(0xd2, fRun), w.Drop)), func(m *w.Module) { m.ElementsRaw(3, 0, 1, fRun) }), want: late, most: 32 << 20},
		{name: "grows by nothing for ever", wasm: world(loop(w.I32Const(0), w.MemoryGrow, w.Drop)).Bytes(), want: late},
		{name: "touches all, each time", wasm: world(max, touch(256), answer).Bytes(), want: "answer 1", calls: 10},
		{name: "starts over its limit", wasm: start(257).Bytes(), want: "limit: the module starts with 16448 KiB of memory, and limits.memory is 16 MiB"},
		{name: "starts with 64 MiB", wasm: start(1024).Bytes(), want: "limit: the module starts with 64 MiB of memory, and limits.memory is 16 MiB"},
		{name: "a million references", wasm: with(world(answer), func(m *w.Module) {
			m.ElementsRaw(append(w.Code(b(1, 0), w.U32(900_000)), make([]byte, 900_000)...)...)
		}), want: "limit: the module starts with 64 KiB of memory and needs 50400304 bytes more for its tables, element segments and globals, and limits.memory is 16 MiB"},
		{name: "fills all, for ever", wasm: world(max, loop(fill)).Bytes(), want: late},
		{name: "copies all, for ever", wasm: world(max, loop(half)).Bytes(), want: late},
		{name: "fills all, no loop", wasm: with(world(max, w.Repeat(20_000, w.Call(fRun+1)), answer), filling), want: late},
		{name: "fills all, one block", wasm: world(max, w.Repeat(1_500, fill), answer).Bytes(), want: late},
		{name: "fills past the end", wasm: world(w.I32Const(65535), w.I32Const(7), w.I32Const(2), b(0xfc, 11, 0), answer).Bytes(), want: "trap: the guest trapped: out of bounds memory access"},
		{name: "copies 4 GiB", wasm: world(w.I32Const(0), w.I32Const(0), w.I32Const(-1), b(0xfc, 10, 0, 0), answer).Bytes(), want: "trap: the guest trapped: out of bounds memory access"},
		{name: "fills 256 MiB in one go", wasm: world(w.I32Const(4095), w.MemoryGrow, w.Drop, loop(w.I32Const(0), w.I32Const(7), w.I32Const(256<<20), b(0xfc, 11, 0))).Bytes(), want: late, limits: quarter},
		{name: "a data segment past the end", wasm: with(start(1), func(m *w.Module) { m.Data(65535, []byte("ab")) }), want: "trap: the guest trapped: out of bounds memory access"},
		{name: "a data segment before the start", wasm: with(start(1), func(m *w.Module) { m.Data(-1, []byte("a")) }), want: "trap: the guest trapped: out of bounds memory access"},
		// The engine omits such a segment.
		{name: "an element past the end", wasm: with(world(answer), func(m *w.Module) { m.Elements(2, fRun) }), want: "answer 1"},
		{name: "a table to its end", wasm: growing(1_000_000), want: "answer 1000000"},
		{name: "fills a table for ever", wasm: world(loop(w.I32Const(0), b(0xd0, 0x70), w.I32Const(2), b(0xfc, 17, 0))).Bytes(), want: late},
	}
}

// hostileTraps returns guests that trap or fail by themselves.
func hostileTraps() []attack {
	trap := func(name, want string, code ...[]byte) attack {
		return attack{name: name, wasm: world(code...).Bytes(), want: "trap: the guest trapped: " + want, calls: 2}
	}
	wrongType := world(w.I32Const(1))
	wrongType.Export("other", wrongType.Func([]byte{w.I64}, []byte{w.I64}, nil, w.LocalGet(0)))
	f64 := append(b(0x44), 0, 0, 0, 0, 0, 0, 0xf8, 0x7f) // NaN
	return []attack{
		trap("unreachable", "unreachable", w.Unreachable),
		trap("division by zero", "integer divide by zero", w.I32Const(1), w.I32Const(0), w.I32DivS),
		trap("division overflow", "integer overflow", w.I32Const(-1<<31), w.I32Const(-1), w.I32DivS),
		trap("conversion of no number", "invalid conversion to integer", f64, b(0xaa)),
		trap("load outside", "out of bounds memory access", w.I32Const(-1), w.I32Load(0)),
		trap("load far outside", "out of bounds memory access", w.I32Const(-1), b(0x28, 2), w.U32(0xffffffff)),
		trap("an empty table entry", "invalid table access", w.I32Const(1), b(0x11), w.U32(3), b(0)),
		trap("outside of the table", "invalid table access", w.I32Const(99), b(0x11), w.U32(3), b(0)),
		{name: "a call of another type", wasm: with(world(w.I32Const(0), b(0x11), w.U32(3), b(0)), func(m *w.Module) {
			m.Elements(0, m.Func([]byte{w.I64}, nil, nil))
		}), want: "trap: the guest trapped: indirect call type mismatch"},
		{name: "a trap at start", wasm: with(world(w.I32Const(1)), func(m *w.Module) { m.Start(m.Func(nil, nil, nil, w.Unreachable)) }), want: "trap: the guest trapped: unreachable"},
		{name: "exports nothing", wasm: times(1, func(m *w.Module) { m.Func(nil, nil, nil) }), want: `guest: the module does not export the function "run"`},
		{name: "run is a memory", wasm: times(1, func(m *w.Module) { m.Memory(1, 1); m.ExportRaw("run", 2, 0) }), want: `guest: the module does not export the function "run"`},
		{name: "run wants something", wasm: times(1, func(m *w.Module) { m.Export("run", m.Func([]byte{w.I32}, nil, nil)) }), want: `guest: the exported function "run" has the type (i32) -> (), which takes 1 parameters instead of 0`},
		{name: "run gives two", wasm: times(1, func(m *w.Module) {
			m.Export("run", m.Func(nil, []byte{w.I32, w.I32}, nil, w.I32Const(1), w.I32Const(1)))
		}), want: `guest: the exported function "run" has the type () -> (i32, i32), which gives more than one result`},
		{name: "_initialize wants something", wasm: with(world(w.I32Const(1)), func(m *w.Module) { m.Export("_initialize", m.Func([]byte{w.I64}, nil, nil)) }),
			want: `guest: the exported function "_initialize" has the type (i64) -> (), which takes 1 parameters instead of 0`},
		{name: "calls itself sallyport", wasm: named("sallyport"), want: "answer 1", calls: 2},
		{name: "calls itself WASI", wasm: named("wasi_snapshot_preview1"), want: "answer 1", calls: 2},
		{name: "calls itself h", wasm: named("h"), want: "answer 1", calls: 2},
	}
}

// named returns a module with a name section.
func named(name string) []byte {
	m := world(w.Call(fF))
	m.Custom("name", w.Code(b(0), w.Bytes(w.Name(name))))
	return m.Bytes()
}
