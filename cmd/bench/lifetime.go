package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// echoGuest is an echo guest in one language. work is additional computation, in steps of the guest's choice.
type echoGuest struct {
	name    string
	wasm    func(work int) ([]byte, error)
	request func(size, work int) runtime.Request
}

func echoGuests() []echoGuest {
	file := func(path ...string) func(int) ([]byte, error) {
		return func(int) ([]byte, error) { return os.ReadFile(filepath.Join(path...)) }
	}
	asked := func(size, work int) runtime.Request {
		return runtime.Request{Method: "tools/call",
			Params: json.RawMessage(fmt.Sprintf(`{"name":"echo","arguments":{"work":%d,"text":"%s"}}`, work, payload(size)))}
	}
	return []echoGuest{
		{"go", file(guestFile("nativepdk")), asked},
		{"rust", file("cmd", "bench", "testdata", "rust", "echo.wasm"), asked},
		{"hand", func(work int) ([]byte, error) { return handGuest(int32(work)), nil },
			func(size, _ int) runtime.Request { return handRequest(size) }},
	}
}

// enoughWork is the shortest call in a reused instance for which the cost of a clean instance is judged: 50 µs, with a
// margin for noise.
const enoughWork = 60 * time.Microsecond

// benchLifetimes calls guests in clean instances, in reused ones, in new ones, and in new ones of plain wazero.
func benchLifetimes(ctx context.Context, o options, engine *runtime.Engine) ([]row, error) {
	var rows []row
	for _, g := range echoGuests() {
		for _, size := range []int{100, 100_000} {
			more, err := benchGuest(ctx, o, engine, g, size)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.name, err)
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// benchGuest measures the guest as it is, and if its call is shorter than enoughWork also with work.
func benchGuest(ctx context.Context, o options, engine *runtime.Engine, g echoGuest, size int) ([]row, error) {
	label := g.name + "_" + map[int]string{100: "100B", 100_000: "100KB"}[size]
	echo, err := timeLifetimes(ctx, o, engine, g, size, 0)
	if err != nil {
		return nil, err
	}
	worked, work := echo, 0
	for worked[reused] < enoughWork {
		if work = 2 * max(work, 8); work > 1<<26 {
			return nil, errors.New("no work is enough")
		}
		quick := o
		quick.rounds = 1
		if worked, err = timeLifetimes(ctx, quick, engine, g, size, work); err != nil {
			return nil, err
		}
	}
	rows := []row{{Name: "clean_calls_" + label, Value: 1e9 / float64(echo[clean]), Unit: "calls/s", note: "quickest, of an echo"}}
	if work > 0 {
		rows = append(rows, row{Name: "clean_over_reused_" + label + "_echo", Value: over(echo, clean, reused), Unit: "ratio",
			note: fmt.Sprintf("time of a call that takes %v in a reused instance: an echo and no work", echo[reused])})
		if worked, err = timeLifetimes(ctx, o, engine, g, size, work); err != nil {
			return nil, err
		}
	}
	return append(rows,
		row{Name: "clean_over_reused_" + label, Value: over(worked, clean, reused), Unit: "ratio",
			note: fmt.Sprintf("time of a call that takes %v in a reused instance", worked[reused])},
		row{Name: "fresh_over_clean_" + label, Value: over(echo, fresh, clean), Unit: "ratio", note: "an instance made from nothing, by this host"},
		row{Name: "plain_over_clean_" + label, Value: over(echo, plainly, clean), Unit: "ratio",
			note: fmt.Sprintf("an instance made from nothing by wazero alone: %v", echo[plainly])}), nil
}

func over(times [lifetimes]time.Duration, a, b int) float64 {
	return float64(times[a]) / float64(times[b])
}

// The ways to call a guest.
const (
	clean = iota
	reused
	fresh
	plainly
	lifetimes
)

// timeLifetimes returns the shortest time of a call in each way.
func timeLifetimes(ctx context.Context, o options, engine *runtime.Engine, g echoGuest, size, work int) (best [lifetimes]time.Duration, err error) {
	wasm, err := g.wasm(work)
	if err != nil {
		return best, err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return best, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	pools := map[int]*gatedPool{}
	for way, s := range []runtime.State{clean: runtime.StateCall, reused: runtime.StatePlugin, fresh: runtime.StateFresh} {
		pools[way] = newGatedPool(gates, module, native.New(), &runtime.PoolOptions{State: s})
	}
	plain, err := newPlainHost(ctx, wasm)
	if err != nil {
		return best, err
	}
	request := g.request(size, work)
	var calls [lifetimes]func() error
	for way := range calls {
		calls[way] = func() error { return plain.call(ctx, request) }
		if p := pools[way]; p != nil {
			calls[way] = func() error { return p.call(ctx, request) }
		}
	}
	times, err := quickest(o, calls[:])
	copy(best[:], times)
	for _, p := range pools {
		err = errors.Join(err, p.Close(ctx))
	}
	return best, errors.Join(err, plain.close(ctx), module.Close())
}

// gatedPool is a pool with a gate for each call, as in the program.
type gatedPool struct {
	*runtime.Pool
	policy *hostfuncs.Policy
}

func newGatedPool(gates *hostfuncs.Host, m *runtime.Module, d runtime.Dialect, o *runtime.PoolOptions) *gatedPool {
	policy := gates.Plugin(hostfuncs.Plugin{Name: "echo"})
	o.Start = func() (runtime.Gate, func()) { g := policy.StartGate(); return g, g.Close }
	o.Warm = func() (runtime.Gate, func()) { g := policy.WarmGate(); return g, g.Close }
	o.Rehearsal = func() (runtime.Gate, func()) { g := policy.RehearsalGate(); return g, g.Close }
	return &gatedPool{runtime.NewPool(m, d, o), policy}
}

func (p *gatedPool) call(ctx context.Context, r runtime.Request) error {
	g := p.policy.NewGate(hostfuncs.Call{ID: "bench", Method: r.Method})
	defer g.Close()
	_, err := p.Call(ctx, r, g)
	return err
}
