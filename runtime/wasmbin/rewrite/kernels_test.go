package rewrite_test

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// Instructions that only the kernels use.
var (
	i32Mul   = []byte{0x6c}
	i32Sub   = []byte{0x6b}
	i32LtS   = []byte{0x48}
	i32LtU   = []byte{0x49}
	i32GeU   = []byte{0x4f}
	i32Load8 = []byte{0x2d, 0, 0}
	i32Set8  = []byte{0x3a, 0, 0}
)

// kernels are modules that compute something, as the export "run" of type (i32) -> i32.
func kernels() []byte {
	var m w.Module
	m.Memory(16, w.None)
	i32 := []byte{w.I32}
	add := func(local uint32, n int32) []byte {
		return w.Code(w.LocalGet(local), w.I32Const(n), w.I32Add, w.LocalSet(local))
	}
	// spin: x = x*1664525 + 1013904223, n times
	m.Export("spin", m.Func(i32, i32, []byte{w.I32, w.I32},
		w.LoopVoid,
		w.LocalGet(2), w.I32Const(1664525), i32Mul, w.I32Const(1013904223), w.I32Add, w.LocalSet(2),
		add(1, 1), w.LocalGet(1), w.LocalGet(0), i32LtU, w.BrIf(0),
		w.End, w.LocalGet(2)))
	// sieve: how many primes are below n; locals i, j, count
	m.Export("sieve", m.Func(i32, i32, []byte{w.I32, w.I32, w.I32},
		w.I32Const(0), w.I32Const(0), w.LocalGet(0), []byte{0xfc, 11, 0},
		w.I32Const(2), w.LocalSet(1),
		w.LoopVoid,
		w.LocalGet(1), i32Load8, w.I32Eqz, w.IfVoid,
		add(3, 1),
		w.LocalGet(1), w.LocalGet(1), w.I32Add, w.LocalSet(2),
		w.BlockVoid, w.LoopVoid,
		w.LocalGet(2), w.LocalGet(0), i32GeU, w.BrIf(1),
		w.LocalGet(2), w.I32Const(1), i32Set8,
		w.LocalGet(2), w.LocalGet(1), w.I32Add, w.LocalSet(2),
		w.Br(0), w.End, w.End,
		w.End,
		add(1, 1), w.LocalGet(1), w.LocalGet(0), i32LtU, w.BrIf(0),
		w.End, w.LocalGet(3)))
	// fib: without a loop
	const fib = 2
	m.Export("fib", m.Func(i32, i32, nil,
		w.LocalGet(0), w.I32Const(2), i32LtS, []byte{0x04, w.I32}, w.LocalGet(0), w.Else,
		w.LocalGet(0), w.I32Const(1), i32Sub, w.Call(fib), w.LocalGet(0), w.I32Const(2), i32Sub, w.Call(fib), w.I32Add, w.End))
	m.Export("endless", m.Func(i32, i32, nil, w.LoopVoid, w.Br(0), w.End, w.LocalGet(0)))
	const deeper = 4
	m.Export("deeper", m.Func(i32, i32, nil, w.LocalGet(0), w.Call(deeper), w.I32Const(1), w.I32Add))
	m.Table(2, 2)
	m.Elements(0, deeper+1)
	m.Export("indirect", m.Func(i32, i32, nil, w.LocalGet(0), w.I32Const(0), []byte{0x11}, w.U32(0), []byte{0}, w.I32Const(1), w.I32Add))
	m.Export("fill", m.Func(i32, i32, nil, w.LoopVoid, w.I32Const(0), w.I32Const(1), w.LocalGet(0), []byte{0xfc, 11, 0}, w.Br(0), w.End, w.LocalGet(0)))
	return m.Bytes()
}

// kernel instantiates the kernels.
func kernel(t testing.TB, metered bool) (*host, api.Module) {
	t.Helper()
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(ctx) })
	wasm := kernels()
	if metered {
		if wasm, _, err = rewrite.Rewrite(wasm, both); err != nil {
			t.Fatal(err)
		}
	}
	m, err := h.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	return h, m
}

// BenchmarkKernels is what metering costs. The two run in turns and the quickest run of each counts, so that the
// ratio means something on a busy machine.
func BenchmarkKernels(b *testing.B) {
	for _, k := range []struct {
		name string
		n    uint64
	}{{"spin", 1_000_000}, {"sieve", 200_000}, {"fib", 24}} {
		b.Run(k.name, func(b *testing.B) {
			_, plain := kernel(b, false)
			_, metered := kernel(b, true)
			least := [2]time.Duration{time.Hour, time.Hour}
			for b.Loop() {
				for i, m := range []api.Module{plain, metered} {
					begin := time.Now()
					if _, err := m.ExportedFunction(k.name).Call(context.Background(), k.n); err != nil {
						b.Fatal(err)
					}
					least[i] = min(least[i], time.Since(begin))
				}
			}
			b.ReportMetric(float64(least[0].Microseconds()), "plain-us")
			b.ReportMetric(float64(least[1].Microseconds()), "metered-us")
			b.ReportMetric(float64(least[1])/float64(least[0]), "metered/plain")
		})
	}
}
