package runtime_test

import (
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// The indices of the imports in every guest made by world.
const (
	fF = iota
	fCancel
	fWait
)

// world returns a module whose run is this code, with the functions of h, a memory of one page, a table of two
// entries, and two i32 globals. run is function 3.
func world(parts ...[]byte) *w.Module {
	var m w.Module
	for _, name := range []string{"f", "cancel", "wait"} {
		m.Import("h", name, nil, []byte{w.I32})
	}
	m.Memory(1, w.None)
	m.Table(2, 100)
	m.Global(w.I32, 0)
	m.Global(w.I32, 7)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, parts...))
	return &m
}

const fRun = 3

// with returns the binary of a module with additions.
func with(m *w.Module, add func(m *w.Module)) []byte {
	add(m)
	return m.Bytes()
}

// loop runs code forever; the instructions after it satisfy validation.
func loop(parts ...[]byte) []byte {
	return w.Code(w.LoopVoid, w.Code(parts...), w.Br(0), w.End, w.Unreachable)
}

const (
	late      = "deadline: the guest did not answer in time: limits.deadline is …"
	lateStart = "deadline: the guest did not start in time"
	exhausted = "trap: the guest trapped: call stack exhausted"
	cancelled = "cancelled: the call was cancelled"
)

// hostileCode returns guests that do not terminate.
func hostileCode() []attack {
	answer := w.I32Const(1)
	start := runtime.Limits{Start: 150 * time.Millisecond, Memory: 16 << 20}
	void := func(m *w.Module, code ...[]byte) uint32 { return m.Func(nil, nil, nil, code...) }
	chain := world(answer) // sixty functions, each of which calls the previous one twice
	last := void(chain, b(0x01))
	for range 60 {
		last = void(chain, w.Call(last), w.Call(last))
	}
	chain.Export("go", void(chain, w.Call(last)))
	table := func(code ...[]byte) *w.Module {
		m := world(code...)
		m.Elements(0, fRun, fRun)
		return m
	}
	indirect := w.Code(b(0x11), w.U32(3), b(0)) // type 3 is that of run
	down := w.Code(w.LocalGet(0), w.I32Const(1), b(0x6b))
	tree := world(w.I32Const(60), w.Call(fRun+1), answer)
	tree.Func([]byte{w.I32}, nil, nil, w.LocalGet(0), w.IfVoid, down, w.Call(fRun+1), down, w.Call(fRun+1), w.End)
	mutual := world(w.Call(fRun + 1))
	mutual.Func(nil, []byte{w.I32}, nil, w.Call(fRun+2))
	mutual.Func(nil, []byte{w.I32}, nil, w.Call(fRun))
	storm := w.Code(w.Repeat(200, w.BlockVoid), w.GlobalGet(0), b(0x0e), w.U32(199), targets(200), w.Repeat(200, w.End),
		w.GlobalGet(0), w.I32Const(77), w.I32Add, w.I32Const(200), b(0x70), w.GlobalSet(0))
	wide := world(w.Repeat(20_000, w.Call(fRun+1)), answer)
	void(wide, w.Repeat(5_000, w.I32Const(0), w.I32Const(0), w.I32Load(0), w.I32Store(0)))
	deep := world(w.Call(fRun + 1))
	deep.FuncRaw(deep.Type(nil, []byte{w.I32}), w.Code(b(1), w.U32(9_000), b(w.I64)), w.Call(fRun+1), w.End)
	wideStack := world(w.Call(fRun + 1))
	wideStack.Func(nil, []byte{w.I32}, nil, w.Repeat(900, w.GlobalGet(0)), w.Call(fRun+1), w.Repeat(900, w.I32Add))
	division := w.Code(w.Repeat(20_000, w.GlobalGet(1), w.GlobalGet(1), w.I32DivS, w.Drop))
	return []attack{
		{name: "an endless loop", wasm: world(loop()).Bytes(), want: late, calls: 2},
		{name: "endless loops in turns", wasm: world(loop(w.LoopVoid, w.I32Const(0), w.BrIf(0), w.End)).Bytes(), want: late},
		{name: "endless in the start function", wasm: with(world(answer), func(m *w.Module) { m.Start(void(m, loop())) }), want: lateStart, limits: start},
		{name: "endless in _initialize", wasm: with(world(answer), func(m *w.Module) { m.Export("_initialize", void(m, loop())) }), want: lateStart, limits: start},
		{name: "endless calls in _initialize", wasm: with(chain, func(m *w.Module) { m.Export("_initialize", last) }), want: lateStart, limits: start},
		{name: "recursion in the start function", wasm: with(world(answer), func(m *w.Module) { m.Start(void(m, w.Call(fRun+1))) }), want: exhausted},
		{name: "recursion without a loop", wasm: world(w.Call(fRun)).Bytes(), want: exhausted, calls: 3},
		{name: "mutual recursion", wasm: mutual.Bytes(), want: exhausted},
		{name: "recursion through a table", wasm: table(w.I32Const(1), indirect).Bytes(), want: exhausted},
		{name: "recursion of 9,000 locals", wasm: deep.Bytes(), want: exhausted},
		{name: "recursion with a full stack", wasm: wideStack.Bytes(), want: exhausted},
		{name: "a tree of 2^60 calls", wasm: tree.Bytes(), want: late},
		{name: "a call of 2^60 calls", wasm: with(world(w.Call(fRun+62), answer), doubling), want: late},
		{name: "100 M instructions, no loop", wasm: wide.Bytes(), want: "answer 1"},
		{name: "br_tables in a loop", wasm: world(loop(storm)).Bytes(), want: late},
		{name: "divisions without a branch", wasm: world(loop(division)).Bytes(), want: late},
		{name: "a million host calls", wasm: world(counted(1_000_000, w.Call(fF), w.Drop), answer).Bytes(), want: "answer 1"},
		{name: "host calls without an end", wasm: world(loop(w.Call(fF), w.Drop)).Bytes(), want: late},
		{name: "host calls, no branch", wasm: world(loop(w.Repeat(2_000, w.Call(fF), w.Drop))).Bytes(), want: late},
		{name: "host calls after its cancel", wasm: world(loop(w.Call(fCancel), w.Drop)).Bytes(), want: cancelled},
		{name: "a loop after its cancel", wasm: world(w.Call(fCancel), w.Drop, loop()).Bytes(), want: cancelled},
		{name: "an answer after its cancel", wasm: world(w.Call(fCancel)).Bytes(), want: cancelled},
		{name: "a host call that waits", wasm: world(w.Call(fWait)).Bytes(), want: late},
		{name: "waits for ever", wasm: world(loop(w.Call(fWait), w.Drop)).Bytes(), want: late},
	}
}

// targets encodes n consecutive labels of a br_table, with the last one repeated as default.
func targets(n int) []byte {
	var out []byte
	for i := range n {
		out = append(out, w.U32(uint32(i))...)
	}
	return out
}

// doubling adds sixty functions to a world; the last one, at index fRun+62, makes 2^60 calls.
func doubling(m *w.Module) {
	f := m.Func(nil, nil, nil, b(0x01))
	for range 61 {
		f = m.Func(nil, nil, nil, w.Call(f), w.Call(f))
	}
}

// counted runs code n times, with global 0 as counter.
func counted(n int32, parts ...[]byte) []byte {
	return w.Code(w.LoopVoid, w.Code(parts...), w.GlobalGet(0), w.I32Const(1), w.I32Add, w.GlobalSet(0),
		w.GlobalGet(0), w.I32Const(n), b(0x48), w.BrIf(0), w.End)
}
