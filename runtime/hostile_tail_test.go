package runtime_test

import (
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// hostileTails returns guests that make tail calls without end.
func hostileTails() []attack {
	const typ = 3 // of run
	again := w.Code(w.I32Const(0), w.ReturnCallIndirect(typ))
	table := func(code ...[]byte) *w.Module {
		m := world(code...)
		m.Elements(0, fRun, fF)
		return m
	}
	mutual := world(w.ReturnCall(fRun + 1))
	mutual.Func(nil, []byte{w.I32}, nil, w.ReturnCall(fRun))
	wide := world(w.Repeat(7, w.I32Const(1)), w.ReturnCall(fRun+1))
	wide.Func(w.Repeat(7, []byte{w.I32}), []byte{w.I32}, nil, w.Repeat(7, w.LocalGet(0)), w.ReturnCall(fRun+1))
	deep := world(w.Call(fRun + 1))
	deep.FuncRaw(deep.Type(nil, []byte{w.I32}), w.Code(b(1), w.U32(9_000), b(w.I64)), w.ReturnCall(fRun+1), w.End)
	mixed := world(w.Call(fRun + 1))
	mixed.Func(nil, []byte{w.I32}, nil, w.Call(fRun+1), w.Drop, w.ReturnCall(fRun+1))
	started := world(w.I32Const(1))
	started.Start(started.Func(nil, nil, nil, w.ReturnCall(fRun+1)))
	past := world(w.I32Const(1))
	past.Func(nil, []byte{w.I32}, nil, w.ReturnCall(99))
	wrong := world(w.I32Const(1))
	wrong.Func(nil, []byte{w.I64}, nil, w.ReturnCall(fRun))
	missing := world(w.I32Const(1), w.ReturnCallIndirect(typ))
	// The results of a tail call in a try_table leave it: no clause catches the exception of the called function.
	leaves := thrower(w.BlockVoid, w.TryTable(0x40, w.CatchAll(0)), w.Call(fChain+1), w.End, w.End, w.I32Const(1))
	leaves.Func(nil, nil, nil, catching(w.ReturnCall(fThrow)))
	uncatching := thrower(w.Call(fChain+1), w.I32Const(1))
	uncatching.Func(nil, nil, nil, catching(w.ReturnCall(fThrow)))
	forever := thrower(w.Call(fChain+1), w.I32Const(1))
	forever.Func(nil, nil, nil, catching(w.ReturnCall(fChain+1)))
	return []attack{
		{name: "tail calls of itself", wasm: world(w.ReturnCall(fRun)).Bytes(), want: late, calls: 2},
		{name: "tail calls in turns", wasm: mutual.Bytes(), want: late},
		{name: "tail calls through a table", wasm: table(again).Bytes(), want: late, calls: 2},
		{name: "tail calls of seven numbers", wasm: wide.Bytes(), want: exhausted, calls: 2},
		{name: "tail calls of 9,000 locals", wasm: deep.Bytes(), want: late},
		{name: "calls and tail calls", wasm: mixed.Bytes(), want: exhausted, calls: 2},
		{name: "tail calls in the start function", wasm: started.Bytes(), want: lateStart, limits: runtime.Limits{Start: 150 * time.Millisecond, Memory: 16 << 20}},
		{name: "tail calls in a try_table", wasm: forever.Bytes(), want: late, calls: 2},
		{name: "a throw behind a tail call", wasm: leaves.Bytes(), want: "answer 1", calls: 2},
		{name: "catches behind a tail call", wasm: uncatching.Bytes(), want: uncaught, calls: 2},
		{name: "a tail call of the host", wasm: world(w.ReturnCall(fF)).Bytes(), want: "answer 1", calls: 2},
		{name: "a tail call of the host in a table", wasm: table(w.I32Const(1), w.ReturnCallIndirect(typ)).Bytes(), want: "answer 1", calls: 2},
		{name: "a tail call after its cancel", wasm: world(w.Call(fCancel), w.Drop, w.ReturnCall(fRun)).Bytes(), want: cancelled},
		{name: "a tail call of a missing entry", wasm: missing.Bytes(), want: "trap: the guest trapped: invalid table access"},
		{name: "a tail call of nothing", wasm: past.Bytes(), want: "refused: malformed WebAssembly module: function 4 calls function 99 of 5"},
		{name: "a tail call of other results", wasm: wrong.Bytes(), want: "refused: malformed WebAssembly module: function 4 returns 7e, and ends in a call that returns 7f, before…"},
	}
}
