package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/image"
	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// benchInstances measures the cost of a clean instance for each call, and how late after its deadline a guest is ended.
func benchInstances(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := benchLifetimes(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	report, err := benchReport(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	late, err := benchDeadline(ctx, engine, o)
	if err != nil {
		return nil, err
	}
	idle, err := benchMemory(ctx, engine)
	if err != nil {
		return nil, err
	}
	return slices.Concat(rows, report, benchRestore(o), late, idle), engine.Close(ctx)
}

// benchRestore restores a memory in which 25 system pages were written.
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

// benchDeadline measures how long after its deadline an endless loop ends.
func benchDeadline(ctx context.Context, engine *runtime.Engine, o options) ([]row, error) {
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
