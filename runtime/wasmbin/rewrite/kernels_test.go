package rewrite_test

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// kernel instantiates the kernels.
func kernel(t testing.TB, metered bool) (*host, api.Module) {
	t.Helper()
	ctx := context.Background()
	h, err := newHost(ctx, wazero.NewRuntimeConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(ctx) })
	wasm := w.Kernels()
	if metered {
		if wasm, _, err = rewriteWasm(wasm, both); err != nil {
			t.Fatal(err)
		}
	}
	m, err := h.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	return h, m
}

// BenchmarkKernels measures the cost of metering. The two variants run alternately and the fastest run of each counts,
// so that the ratio is meaningful on a busy machine.
func BenchmarkKernels(b *testing.B) {
	for _, k := range []struct {
		name string
		n    uint64
	}{{"spin", 1_000_000}, {"sieve", 200_000}, {"fib", 24}, {"matmul", 100}} {
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
