package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// orderGate gives a guest its orders, one number after the other; 0 is the end.
type orderGate struct {
	*attackGate
	orders []uint64
}

// refHost returns the imports of guestRefs, and counts its starts.
func refHost(starts *int) []runtime.HostFunc {
	return []runtime.HostFunc{
		{Module: "h", Name: "order", Results: []byte{w.I32}, Call: func(ctx context.Context, _ runtime.Memory, stack []uint64) {
			stack[0] = 0
			if g, ok := runtime.GateFrom(ctx).(*orderGate); ok && len(g.orders) > 0 {
				stack[0], g.orders = g.orders[0], g.orders[1:]
			}
		}},
		{Module: "h", Name: "started", Call: func(context.Context, runtime.Memory, []uint64) { *starts++ }},
	}
}

// refOps is the number of orders that guestRefs knows.
const refOps = 15

// guestRefs returns a guest whose start changes tables, a global and segments, and whose run does so by orders: it
// returns a digest of all of them.
func guestRefs() *w.Module {
	var m w.Module
	fOrder := m.Import("h", "order", nil, []byte{w.I32})
	fStarted := m.Import("h", "started", nil, nil)
	m.Memory(1, 2)
	m.Table(4, 20) // 0: the one in the digest
	m.Table(1, 1)  // 1: to call the reference in a global
	var fns []uint32
	for i := range 3 {
		fns = append(fns, m.Func(nil, []byte{w.I32}, nil, w.I32Const(int32(3+i))))
	}
	ref := func(i int) []byte { return w.Code(b(0xd2), w.U32(fns[i])) }
	null := b(0xd0, w.FuncRef)
	m.Elements(0, fns[0], fns[1])
	m.ElementsRaw(append([]byte{1, 0, 3}, byte(fns[2]), byte(fns[1]), byte(fns[0]))...) // 1
	m.ElementsRaw(append([]byte{1, 0, 1}, byte(fns[0]))...)                             // 2, dropped by the start
	m.PassiveData([]byte("abcd"))
	m.PassiveData([]byte("x")) // dropped by the start
	m.GlobalRaw(w.FuncRef, 1, ref(0))
	m.GlobalRaw(w.ExternRef, 1, b(0xd0, w.ExternRef))
	m.Start(m.Func(nil, nil, nil, w.Call(fStarted), w.I32Const(3), ref(1), b(0x26, 0), ref(2), w.I32Const(2), b(0xfc, 15, 0), w.Drop,
		b(0xfc, 13, 2), b(0xfc, 9, 1), ref(1), w.GlobalSet(0)))
	arg, callTyped := w.Call(fOrder), w.Code(b(0x11), w.U32(0))
	ops := [refOps][]byte{nil,
		w.Code(arg, ref(0), b(0x26, 0)),
		w.Code(arg, null, b(0x26, 0)),
		w.Code(ref(1), arg, b(0xfc, 15, 0), w.Drop),
		w.Code(w.I32Const(0), null, arg, b(0xfc, 17, 0)),
		w.Code(arg, w.I32Const(0), w.I32Const(2), b(0xfc, 12, 1, 0)),
		b(0xfc, 13, 1),
		w.Code(arg, w.I32Const(0), w.I32Const(4), b(0xfc, 8, 0, 0)),
		b(0xfc, 9, 0),
		w.Code(ref(2), w.GlobalSet(0)),
		w.Code(null, w.GlobalSet(0)),
		w.Code(arg, w.I32Const(0), w.I32Const(2), b(0xfc, 14, 0, 0)),
		w.Code(w.I32Const(0), w.I32Const(0), arg, b(0xfc, 12, 2, 0)),
		w.Code(w.I32Const(0), w.I32Const(0), arg, b(0xfc, 8, 1, 0)),
		w.Code(arg, b(0x25, 0), w.GlobalSet(0)),
	}
	mix := func(code ...[]byte) []byte { // local 1 is the digest
		return w.Code(w.LocalGet(1), w.I32Const(31), b(0x6c), w.Code(code...), w.I32Add, w.LocalSet(1))
	}
	code := w.Code(w.BlockVoid, w.LoopVoid, w.Call(fOrder), w.LocalSet(0), w.LocalGet(0), w.I32Eqz, w.BrIf(1))
	for i, op := range ops {
		code = w.Code(code, w.LocalGet(0), w.I32Const(int32(i)), b(0x46), w.IfVoid, op, w.End)
	}
	code = w.Code(code, w.Br(0), w.End, w.End, mix(b(0xfc, 16, 0)), w.I32Const(0), w.LocalSet(0),
		w.LoopVoid, mix(w.LocalGet(0), b(0x25, 0, 0xd1), b(0x04, w.I32), w.I32Const(1), w.Else, w.LocalGet(0), callTyped, b(0), w.End),
		w.LocalGet(0), w.I32Const(1), w.I32Add, b(0x22, 0), b(0xfc, 16, 0), b(0x49), w.BrIf(0), w.End,
		mix(w.GlobalGet(0), b(0xd1), b(0x04, w.I32), w.I32Const(1), w.Else,
			w.I32Const(0), w.GlobalGet(0), b(0x26, 1), w.I32Const(0), callTyped, b(1), w.End),
		mix(w.I32Const(0), w.I32Load(0)), w.LocalGet(1))
	m.Export("run", m.Func(nil, []byte{w.I32}, []byte{w.I32, w.I32}, code))
	return &m
}

// A reset instance returns the same results as a fresh one after any changes by earlier calls, and starts only once.
func TestPool_resetEqualsAFreshInstance(t *testing.T) {
	ctx := context.Background()
	for _, way := range runtime.Restores() {
		var starts int
		e, err := runtime.NewEngine(ctx, &runtime.EngineOptions{Host: refHost(&starts), Restore: way})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(ctx)
		m := compile(t, e, guestRefs())
		pools := map[runtime.State]*runtime.Pool{}
		for _, s := range []runtime.State{runtime.StateCall, runtime.StateFresh} {
			pools[s] = runtime.NewPool(m, run{}, &runtime.PoolOptions{State: s, Limits: runtime.Limits{Concurrency: 1}})
			defer pools[s].Close(ctx)
		}
		answer := func(s runtime.State, orders []uint64) string {
			g := newAttackGate(func() {})
			defer g.wasi.Close()
			text, err := pools[s].Call(ctx, runtime.Request{}, &orderGate{g, orders})
			return fmt.Sprint(string(text), err)
		}
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 7))
		clean, ends := answer(runtime.StateFresh, nil), map[string]int{}
		starts = 0
		const rounds = 400
		for range rounds {
			var orders []uint64
			for range 1 + r.IntN(6) {
				orders = append(orders, 1+r.Uint64N(refOps-1), 1+r.Uint64N(6))
			}
			got := answer(runtime.StateCall, orders)
			if want := answer(runtime.StateFresh, orders); got != want {
				t.Fatalf("%s, seed %d, %d: %s, and fresh %s", way, seed, orders, got, want)
			}
			if again := answer(runtime.StateCall, nil); again != clean {
				t.Fatalf("%s, seed %d: after %d: %s, and fresh %s", way, seed, orders, again, clean)
			}
			ends[got]++
		}
		if starts > rounds+2 { // each fresh instance, and the template
			t.Errorf("%s: it started %d times", way, starts-rounds)
		}
		if len(ends) < 50 {
			t.Errorf("only %d different ends", len(ends))
		}
	}
}
