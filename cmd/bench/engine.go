package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/image"
	"github.com/sallyport-mcp/sallyport/runtime/native"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// benchClean measures what it costs that each call has a clean instance, and how late a guest is ended.
func benchClean(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := benchStates(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	late, err := benchOvershoot(ctx, engine, o)
	if err != nil {
		return nil, err
	}
	return append(append(rows, benchRestore(o)...), late...), engine.Close(ctx)
}

// benchStates calls a Go guest in instances that are clean, reused, and made from nothing.
func benchStates(ctx context.Context, o options, engine *runtime.Engine) ([]row, error) {
	wasm, err := os.ReadFile(guestFile("nativepdk"))
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	policy := gates.Plugin(hostfuncs.Plugin{Name: "echo"})
	pool := func(s runtime.State) *runtime.Pool {
		return runtime.NewPool(module, native.New(), &runtime.PoolOptions{State: s,
			Start: func() (runtime.Gate, func()) { g := policy.StartGate(); return g, g.Close }})
	}
	call := func(p *runtime.Pool, r runtime.Request) error {
		g := policy.NewGate(hostfuncs.Call{ID: "bench", Method: r.Method})
		defer g.Close()
		_, err := p.Call(ctx, r, g)
		return err
	}
	states := []runtime.State{runtime.StateCall, runtime.StatePlugin, runtime.StateFresh}
	var pools []*runtime.Pool
	for _, s := range states {
		pools = append(pools, pool(s))
	}
	var rows []row
	for _, size := range []int{100, 100_000} {
		params := json.RawMessage(`{"name":"echo","arguments":{"text":"` + payload(size) + `"}}`)
		request := runtime.Request{Method: "tools/call", Params: params}
		rates := make([][]float64, len(states))
		for range o.rounds {
			for i, p := range pools {
				rate, err := rateOf(o.slice, func() error { return call(p, request) })
				if err != nil {
					return nil, fmt.Errorf("state %s: %w", states[i], err)
				}
				rates[i] = append(rates[i], rate)
			}
		}
		label := map[int]string{100: "100B", 100_000: "100KB"}[size]
		over, fresh := ratios(rates[1], rates[0]), ratios(rates[0], rates[2])
		rows = append(rows,
			row{Name: "clean_over_reused_go_" + label, Value: median(over), Unit: "ratio", note: "time of a call; " + spread(over)},
			row{Name: "clean_calls_go_" + label, Value: median(rates[0]), Unit: "calls/s", note: spread(rates[0])},
			row{Name: "fresh_over_clean_go_" + label, Value: median(fresh), Unit: "ratio", note: "an instance made from nothing; " + spread(fresh)})
	}
	idle, err := idlePlugins(func() (*runtime.Pool, error) {
		p := pool(runtime.StateCall)
		return p, call(p, runtime.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"echo","arguments":{"text":"a"}}`)})
	}, ctx)
	for _, p := range pools {
		err = errors.Join(err, p.Close(ctx))
	}
	return append(rows, idle...), errors.Join(err, module.Close())
}

// idlePlugins measures what a plugin keeps that was called once: its image and an instance.
func idlePlugins(make func() (*runtime.Pool, error), ctx context.Context) ([]row, error) {
	const plugins = 200
	before := resident()
	var all []*runtime.Pool
	var err error
	for range plugins {
		p, failed := make()
		all, err = append(all, p), errors.Join(err, failed)
	}
	each := float64(resident()-before) / plugins / (1 << 20)
	for _, p := range all {
		err = errors.Join(err, p.Close(ctx))
	}
	return []row{{Name: "idle_plugin_go_MB", Value: each, Unit: "MiB", note: fmt.Sprintf("of %d plugins that were called once, without their code", plugins)}}, err
}

// resident is what this process has in memory, in bytes; 0 where the system does not tell.
func resident() int {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kib int
	_, _ = fmt.Sscan(after, &kib)
	return kib << 10
}

// benchRestore makes a memory clean of which 25 pages of the system were written.
func benchRestore(o options) []row {
	const pages, size = 25, 4 << 20
	var rows []row
	for _, way := range image.Ways() {
		contents := make([]byte, size)
		for i := range contents {
			contents[i] = byte(i)
		}
		i := image.New(contents, way)
		m := i.Memory(64 << 20)
		var took []float64
		for range o.rounds * 200 {
			for n := range pages {
				m.Bytes()[n*(size/pages)]++
			}
			begin := time.Now()
			if m.Restore() != nil {
				break
			}
			took = append(took, float64(time.Since(begin).Nanoseconds())/1000)
		}
		m.Free()
		i.Close()
		rows = append(rows, row{Name: "restore_25_pages_us_" + way.String(), Value: median(took), Unit: "µs", note: "of 4 MiB"})
	}
	best := rows[len(rows)-1]
	best.Name = "restore_25_pages_us"
	return append(rows, best)
}

// loop is the dialect of a guest that never answers.
type loop struct{}

func (loop) Name() string { return "loop" }

func (loop) Serve(ctx context.Context, in *runtime.Instance, _ runtime.Request) (json.RawMessage, error) {
	_, err := in.Call(ctx, "run")
	return nil, err
}

// benchOvershoot measures how long after its deadline an endless loop ends.
func benchOvershoot(ctx context.Context, engine *runtime.Engine, o options) ([]row, error) {
	var m wasmtest.Module
	m.Export("run", m.Func(nil, nil, nil, wasmtest.LoopVoid, wasmtest.Br(0), wasmtest.End))
	module, err := engine.Compile(ctx, m.Bytes())
	if err != nil {
		return nil, err
	}
	const deadline = 10 * time.Millisecond
	p := runtime.NewPool(module, loop{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: deadline}})
	var late []float64
	for range o.rounds * 30 {
		begin := time.Now()
		if _, err := p.Call(ctx, runtime.Request{}, nil); err == nil {
			return nil, errors.New("an endless loop ended by itself")
		}
		late = append(late, float64((time.Since(begin)-deadline).Microseconds())/1000)
	}
	slices.Sort(late)
	at := func(percent int) float64 { return late[min(len(late)*percent/100, len(late)-1)] }
	note := fmt.Sprintf("p50 %.3g, p90 %.3g, most %.3g of %d", at(50), at(90), at(100), len(late))
	return []row{{Name: "deadline_overshoot_p99_ms", Value: at(99), Unit: "ms", note: note}},
		errors.Join(p.Close(ctx), module.Close())
}
