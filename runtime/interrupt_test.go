package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// TestPool_Call_interruptible checks that no code runs past its deadline, with and without loops.
func TestPool_Call_interruptible(t *testing.T) {
	call := func(m *w.Module, fn uint32) *w.Module {
		m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.Call(fn), w.I32Const(1)))
		return m
	}
	doubling := func(n int) *w.Module { // each function calls the previous one twice
		m := new(w.Module)
		f := m.Func(nil, nil, nil, []byte{0x01})
		for range n {
			f = m.Func(nil, nil, nil, w.Call(f), w.Call(f))
		}
		return call(m, f)
	}
	recursion := new(w.Module) // f(n) { if n { f(n-1); f(n-1) } }
	recursion.Func([]byte{w.I32}, nil, nil, w.LocalGet(0), []byte{0x04, 0x40},
		w.LocalGet(0), w.I32Const(1), []byte{0x6b}, w.Call(0), w.LocalGet(0), w.I32Const(1), []byte{0x6b}, w.Call(0), w.End)
	call(recursion, recursion.Func(nil, nil, nil, w.I32Const(60), w.Call(0)))
	table := new(w.Module) // the same through a table
	table.Table(1, 1)
	table.Elements(0, 0)
	down := w.Code(w.LocalGet(0), w.I32Const(1), []byte{0x6b}, w.I32Const(0), []byte{0x11, 0, 0})
	table.Func([]byte{w.I32}, nil, nil, w.LocalGet(0), []byte{0x04, 0x40}, down, down, w.End)
	call(table, table.Func(nil, nil, nil, w.I32Const(60), w.Call(0)))
	fill := new(w.Module) // one function without a call
	fill.Memory(1000, 1000)
	fill.Export("run", fill.Func(nil, []byte{w.I32}, nil,
		w.Repeat(2000, w.I32Const(0), w.I32Const(7), w.I32Const(1000<<16-1), []byte{0xfc, 11, 0}), w.I32Const(1)))
	wide := new(w.Module) // one function with many calls
	wide.Memory(1, 1)
	leaf := wide.Func(nil, nil, nil, w.Repeat(5_000, w.I32Const(0), w.I32Const(0), w.I32Load(0), w.I32Store(0)))
	call(wide, wide.Func(nil, nil, nil, w.Repeat(100_000, w.Call(leaf))))

	for name, m := range map[string]*w.Module{
		"doubling": doubling(60), "recursion": recursion, "table": table, "fill": fill, "wide": wide,
	} {
		t.Run(name, func(t *testing.T) {
			p := runtime.NewPool(compile(t, newEngine(t, nil), m), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: 100 * time.Millisecond}})
			begin := time.Now()
			err := callErr(p)
			t.Logf("%v after %v", err, time.Since(begin))
			wantEnd(t, err, runtime.KindDeadline, "the guest did not answer in time")
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("it ended after %v", d)
			}
		})
	}
	if err := callErr(runtime.NewPool(compile(t, newEngine(t, nil), doubling(18)), run{}, nil)); err != nil {
		t.Errorf("a module with stops that ends in time: %v", err)
	}
}

// TestPool_Call_hostCallsAfterTheEnd checks that a guest whose call is over does not continue with the rest of its
// fuel slice.
func TestPool_Call_hostCallsAfterTheEnd(t *testing.T) {
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
		t.Errorf("%d host calls", calls)
	}
}
