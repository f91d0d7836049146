package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// No code reaches its end after the deadline: each module calls the host once it has run to its end.
func TestPool_Call_interruptsCodeWithAndWithoutLoops(t *testing.T) {
	module := func() *w.Module {
		m := new(w.Module)
		m.Import("h", "f", nil, []byte{w.I32})
		return m
	}
	export := func(m *w.Module, code ...[]byte) *w.Module {
		m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.Code(code...), w.Call(0)))
		return m
	}
	doubling := func(n int) *w.Module { // each function calls the previous one twice
		m := module()
		f := m.Func(nil, nil, nil, []byte{0x01})
		for range n {
			f = m.Func(nil, nil, nil, w.Call(f), w.Call(f))
		}
		return export(m, w.Call(f))
	}
	recursion := module() // f(n) { if n { f(n-1); f(n-1) } }
	recursion.Func([]byte{w.I32}, nil, nil, w.LocalGet(0), []byte{0x04, 0x40},
		w.LocalGet(0), w.I32Const(1), []byte{0x6b}, w.Call(1), w.LocalGet(0), w.I32Const(1), []byte{0x6b}, w.Call(1), w.End)
	export(recursion, w.I32Const(60), w.Call(1))
	table := module() // the same through a table
	table.Table(1, 1)
	table.Elements(0, 1)
	down := w.Code(w.LocalGet(0), w.I32Const(1), []byte{0x6b}, w.I32Const(0), []byte{0x11, byte(table.Type([]byte{w.I32}, nil)), 0})
	table.Func([]byte{w.I32}, nil, nil, w.LocalGet(0), []byte{0x04, 0x40}, down, down, w.End)
	export(table, w.I32Const(60), w.Call(1))
	fill := module() // one function without a call
	fill.Memory(1000, 1000)
	export(fill, w.Repeat(2000, w.I32Const(0), w.I32Const(7), w.I32Const(1000<<16-1), []byte{0xfc, 11, 0}))
	wide := module() // one function with many calls
	wide.Memory(1, 1)
	leaf := wide.Func(nil, nil, nil, w.Repeat(5_000, w.I32Const(0), w.I32Const(0), w.I32Load(0), w.I32Store(0)))
	export(wide, w.Call(wide.Func(nil, nil, nil, w.Repeat(100_000, w.Call(leaf)))))

	for name, m := range map[string]*w.Module{
		"doubling": doubling(60), "recursion": recursion, "table": table, "fill": fill, "wide": wide,
	} {
		t.Run(name, func(t *testing.T) {
			e := hostF(t, func(context.Context, runtime.Memory, []uint64) { t.Error("the guest ran to its end") })
			p := runtime.NewPool(compile(t, e, m), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: 100 * time.Millisecond}})
			wantEnd(t, callErr(p), runtime.KindDeadline, "the guest did not answer in time")
		})
	}
	if err := callErr(runtime.NewPool(compile(t, hostF(t, one), doubling(18)), run{}, nil)); err != nil {
		t.Errorf("a module that ends in time: got %v, want no error", err)
	}
}

// A guest whose call is over does not continue with the rest of its fuel slice.
func TestPool_Call_endsSoonAmongHostCalls(t *testing.T) {
	calls := 0
	ctx, cancel := context.WithCancel(context.Background())
	e := hostF(t, func(context.Context, runtime.Memory, []uint64) {
		if calls++; calls == 100 {
			cancel()
		}
	})
	p := runtime.NewPool(compile(t, e, guest(w.LoopVoid, w.Call(0), w.Drop, w.Br(0), w.End, w.Unreachable)), run{}, nil)
	_, err := p.Call(ctx, runtime.Request{}, nil)
	wantEnd(t, err, runtime.KindCancelled, "the call was cancelled")
	if calls > 120 {
		t.Errorf("got %d host calls, want no more than 20 after the call was cancelled", calls)
	}
}
