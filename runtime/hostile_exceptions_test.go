package runtime_test

import (
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// catching runs code in a try_table that catches everything, and goes on behind it.
func catching(parts ...[]byte) []byte {
	return w.Code(w.BlockVoid, w.TryTable(0x40, w.CatchAll(0)), w.Code(parts...), w.End, w.End)
}

// thrower returns a world with tags of no values and of an i32. Its functions after run throw the first one, call
// themselves in a try_table, and call themselves global 0 times before they throw.
func thrower(parts ...[]byte) *w.Module {
	m := world(parts...)
	m.Tag()
	m.Tag(w.I32)
	m.Func(nil, nil, nil, w.Throw(0))
	m.Func(nil, nil, nil, catching(w.Call(fNest)), w.Call(fNest))
	m.Func(nil, nil, nil, w.GlobalGet(0), b(0x45), w.IfVoid, w.Throw(0), w.End,
		w.GlobalGet(0), w.I32Const(1), b(0x6b), w.GlobalSet(0), w.Call(fChain))
	return m
}

const uncaught = "trap: the guest trapped: an exception was not caught"

const (
	fThrow = fRun + 1
	fNest  = fRun + 2
	fChain = fRun + 3
)

// hostileExceptions returns guests that throw without end, and that try to catch their own end.
func hostileExceptions() []attack {
	answer := w.I32Const(1)
	drop := w.Drop
	deep := w.Code(w.I32Const(20_000), w.GlobalSet(0), catching(w.Call(fChain)))
	rethrow := w.Code(b(0x02, w.ExnRef), w.TryTable(0x40, w.CatchAllRef(0)), w.Call(fThrow), w.End, w.Unreachable, w.End, w.ThrowRef)
	forever := func(code ...[]byte) []byte { return w.Code(loop(catching(w.Code(code...))), answer) }
	started := thrower(answer)
	started.Start(fThrow)
	initialized := thrower(answer)
	initialized.Export("_initialize", fThrow)
	exit := wasiGuest("proc_exit", "i", forever(numbers(3), w.Call(0)))
	table := thrower(catching(w.I32Const(0), b(0x11), w.U32(3), b(0), drop), w.I32Const(7))
	return []attack{
		{name: "throws and catches for ever", wasm: thrower(forever(w.Throw(0))).Bytes(), want: late, calls: 2},
		{name: "calls and catches for ever", wasm: thrower(forever(w.Call(fThrow))).Bytes(), want: late},
		{name: "a loop made of throws", wasm: thrower(w.LoopVoid, w.TryTable(0x40, w.CatchAll(0)), w.Throw(0), w.End, w.End, answer).Bytes(), want: late},
		{name: "throws again for ever", wasm: thrower(forever(rethrow)).Bytes(), want: late},
		{name: "try_tables in a recursion", wasm: thrower(w.Call(fNest), answer).Bytes(), want: exhausted, calls: 2},
		{name: "catches a full stack", wasm: thrower(forever(w.Call(fNest))).Bytes(), want: exhausted},
		{name: "a throw through 20,000 calls", wasm: thrower(deep, answer).Bytes(), want: "answer 1", calls: 3},
		{name: "such throws for ever", wasm: thrower(forever(deep)).Bytes(), want: late},
		{name: "catches a trap", wasm: thrower(forever(w.Unreachable)).Bytes(), want: "trap: the guest trapped: unreachable", calls: 2},
		{name: "catches a division by zero", wasm: thrower(forever(numbers(1, 0), w.I32DivS, drop)).Bytes(), want: "trap: the guest trapped: integer divide by zero"},
		{name: "catches a missing page", wasm: thrower(forever(w.I32Const(-4), w.I32Load(0), drop)).Bytes(), want: "trap: the guest trapped: out of bounds memory access"},
		{name: "catches a missing function", wasm: table.Bytes(), want: "trap: the guest trapped: invalid table access"},
		{name: "catches its cancel", wasm: thrower(forever(w.Call(fCancel), drop)).Bytes(), want: cancelled, calls: 2},
		{name: "catches its deadline", wasm: thrower(forever(w.Call(fWait), drop)).Bytes(), want: late},
		{name: "catches its deadline in a loop", wasm: thrower(forever(loop())).Bytes(), want: late},
		{name: "catches its exit", wasm: exit.Bytes(), want: "exit: the guest exited with code 3", calls: 2},
		{name: "an exception that nobody catches", wasm: thrower(w.Throw(0)).Bytes(), want: uncaught, calls: 2},
		{name: "an exception of the start", wasm: started.Bytes(), want: uncaught},
		{name: "an exception of _initialize", wasm: initialized.Bytes(), want: uncaught},
		{name: "throws nothing", wasm: thrower(catching(b(0xd0, w.ExnRef), w.ThrowRef), answer).Bytes(), want: "trap: the guest trapped: unreachable"},
		{name: "values of an earlier exception", wasm: staleValues(), want: "answer 0", calls: 3},
	}
}

// staleValues returns a guest that keeps a reference to an exception in a global, and looks for it: the result is the
// value of the exception that an earlier call left.
func staleValues() []byte {
	var m w.Module
	m.Tag(w.I32)
	m.Global(w.I32, 0)
	m.GlobalRaw(w.ExnRef, 1, b(0xd0, w.ExnRef))
	pair := m.Type(nil, []byte{w.I32, w.ExnRef})
	look := w.Code(w.GlobalGet(0), w.IfVoid, b(0x02, w.I32), w.TryTable(0x40, w.Catch(0, 0)), w.GlobalGet(1), w.ThrowRef, w.End, w.Unreachable, w.End, w.Return, w.End)
	keep := w.Code(b(0x02), w.S64(int64(pair)), w.TryTable(0x40, w.CatchRef(0, 0)), w.I32Const(0x5ec2e7), w.Throw(0), w.End, w.Unreachable, w.End,
		w.GlobalSet(1), w.GlobalSet(0))
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, look, keep, w.I32Const(0)))
	return m.Bytes()
}
