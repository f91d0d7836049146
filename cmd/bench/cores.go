package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// benchCores measures calls per second, processor time and garbage of a call at 1, 2, 4 and 8 goroutines that call one
// plugin through its pool.
func benchCores(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(guestFile("native"))
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	counts := []int{1, 2, 4, 8}
	pool := newGatedPool(gates, module, native.New(), &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: counts[len(counts)-1]}})
	request := echoCall(payload(100)).request()
	all := make([]crowded, len(counts))
	var spins [2]crowded
	for range o.rounds {
		for i := range spins {
			if err := spins[i].measure(i+1, o.slice, spin); err != nil {
				return nil, err
			}
		}
		for i, n := range counts {
			if err := all[i].measure(n, o.slice, func() error { return pool.call(ctx, request) }); err != nil {
				return nil, err
			}
		}
	}
	var rows []row
	for i, n := range counts {
		name := fmt.Sprintf("cores_echo_%d", n)
		rows = append(rows, all[i].row(name))
		if i > 0 {
			over := ratios(all[i].rates, all[0].rates)
			rows = append(rows, row{Name: name + "_over_1", Value: median(over), Unit: "ratio",
				note: fmt.Sprintf("calls per second; %d processors; %s", goruntime.GOMAXPROCS(0), spread(over))})
		}
	}
	over := ratios(spins[1].rates, spins[0].rates)
	rows = append(rows,
		row{Name: "cores_spin_2_over_1", Value: median(over), Unit: "ratio", note: "a loop without memory: the most that this machine allows; " + spread(over)},
		row{Name: "call_garbage_bytes", Value: float64(all[0].bytes) / float64(all[0].calls), Unit: "B/call", note: "of an echo through the pool, with its gate"},
		row{Name: "call_garbage_objects", Value: float64(all[0].objects) / float64(all[0].calls), Unit: "/call"})
	return rows, errors.Join(pool.Close(ctx), module.Close(), engine.Close(ctx))
}

// spin computes for some ten microseconds.
func spin() error {
	x := uint32(time.Now().Nanosecond()) | 1
	for range 10_000 {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
	}
	if x == 0 {
		return errors.New("xorshift has no zero")
	}
	return nil
}

// crowded holds the measurements of calls from several goroutines.
type crowded struct {
	rates          []float64
	calls          int
	cpu            time.Duration
	bytes, objects uint64
}

// measure calls from n goroutines for the duration of a slice.
func (m *crowded) measure(n int, slice time.Duration, call func() error) error {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	spent, begin := cpuOf(os.Getpid()), time.Now()
	counts, errs := make([]int, n), make([]error, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			calls := 0
			for errs[i] == nil && (calls == 0 || time.Since(begin) < slice) {
				errs[i] = call()
				calls++
			}
			counts[i] = calls
		})
	}
	callers.Wait()
	took := time.Since(begin)
	m.cpu += cpuOf(os.Getpid()) - spent
	goruntime.ReadMemStats(&after)
	calls := 0
	for _, n := range counts {
		calls += n
	}
	m.calls += calls
	m.rates = append(m.rates, float64(calls)/took.Seconds())
	m.bytes += after.TotalAlloc - before.TotalAlloc
	m.objects += after.Mallocs - before.Mallocs
	return errors.Join(errs...)
}

func (m *crowded) row(name string) row {
	return row{Name: name, Value: median(m.rates), Unit: "calls/s",
		note: fmt.Sprintf("CPU %.3g µs/call; %s", microseconds(m.cpu)/float64(m.calls), spread(m.rates))}
}
