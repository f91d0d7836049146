package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// benchBefore calls the tool sha of a Go guest in clean instances as the host does now, without the simplifications of
// the rewriter, and without them and the warm-up of images, in turn.
func benchBefore(ctx context.Context, o options) ([]row, error) {
	wasm, err := os.ReadFile(guestFile("tools"))
	if err != nil {
		return nil, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	request := shaCall().request()
	cold := coldDialect{native.New(), runtime.Request{Method: "plugin/describe"}}
	var calls []func() error
	for _, way := range []struct {
		unsimplified bool
		dialect      runtime.Dialect
	}{{false, native.New()}, {true, native.New()}, {true, cold}} {
		engine, err := runtime.NewEngine(ctx, &runtime.EngineOptions{
			Host: slices.Concat(wasi.HostFuncs(), native.HostFuncs()), Unsimplified: way.unsimplified,
		})
		if err != nil {
			return nil, err
		}
		defer engine.Close(ctx)
		module, err := engine.Compile(ctx, wasm)
		if err != nil {
			return nil, err
		}
		defer module.Close()
		pool := newGatedPool(gates, module, way.dialect, &runtime.PoolOptions{})
		defer pool.Close(ctx)
		calls = append(calls, func() error { return pool.call(ctx, request) })
	}
	times, err := quickest(o, calls)
	over := func(name string, i int, note string) row {
		return row{Name: name, Value: float64(times[0]) / float64(times[i]), Unit: "ratio",
			note: fmt.Sprintf("time of a call of 64 KiB, %v now, %v %s", times[0], times[i], note)}
	}
	return []row{
		over("sha_over_unsimplified", 1, "without the simplifications of the rewriter"),
		over("sha_over_before", 2, "without these and the warm-up of the image"),
	}, err
}
