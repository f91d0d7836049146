package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// callerCounts are the goroutines that call one plugin at a time.
var callerCounts = []int{1, 2, 4, 8}

// coreSlices divide a slice: the speed of a shared machine changes within seconds, and a ratio compares neighbours.
const coreSlices = 5

// benchCores measures calls per second, processor time and garbage of a call at 1, 2, 4 and 8 goroutines that call one
// plugin through its pool. Two processes of one goroutine each share nothing of the host's, and show the most that this
// machine allows.
func benchCores(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	var hosts [2]*callingHost
	for i := range hosts {
		var err error
		if hosts[i], err = startCallingHost(ctx); err != nil {
			return nil, err
		}
		defer hosts[i].stop()
	}
	slice := o.slice / coreSlices
	all, processes, spins := make([]callers, len(callerCounts)), callers{}, make([]callers, 2)
	for range o.rounds * coreSlices {
		for i := range spins {
			m, err := measureCallers(i+1, slice, spin)
			if err != nil {
				return nil, err
			}
			spins[i].add(m)
		}
		for i, n := range callerCounts {
			if err := all[i].ask(n, slice, hosts[0]); err != nil {
				return nil, err
			}
		}
		if err := processes.ask(1, slice, hosts[:]...); err != nil {
			return nil, err
		}
	}
	var rows []row
	for i, n := range callerCounts {
		name := fmt.Sprintf("cores_echo_%d", n)
		rows = append(rows, all[i].row(name))
		if i > 0 {
			rows = append(rows, all[i].over(all[0], name+"_over_1", fmt.Sprintf("calls per second; %d processors; ", goruntime.GOMAXPROCS(0))))
		}
	}
	return append(rows,
		processes.row("cores_echo_processes"),
		processes.over(all[0], "cores_echo_processes_over_1", "two hosts with one goroutine each: the most that this machine allows; "),
		all[1].over(processes, "cores_echo_2_over_processes", "calls per second of one host over those of two; "),
		spins[1].over(spins[0], "cores_spin_2_over_1", "a loop without memory; "),
		row{Name: "call_garbage_bytes", Value: float64(all[0].Bytes) / float64(all[0].Calls), Unit: "B/call", note: "of an echo through the pool, with its gate"},
		row{Name: "call_garbage_objects", Value: float64(all[0].Objects) / float64(all[0].Calls), Unit: "/call"}), nil
}

// serveCallers measures its plugin for each line of standard input, a [callOrder], and answers with the [callTotals].
func serveCallers() (err error) {
	ctx := context.Background()
	engine, err := benchEngine(ctx)
	if err != nil {
		return err
	}
	wasm, err := os.ReadFile(guestFile("native"))
	if err != nil {
		return err
	}
	module, err := engine.Compile(ctx, wasm)
	if err != nil {
		return err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	pool := newGatedPool(gates, module, native.New(), &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: callerCounts[len(callerCounts)-1]}})
	request := echoCall(payload(100)).request()
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for err == nil {
		var order callOrder
		if err = orders.Decode(&order); err != nil {
			break // the input has ended, or is wrong
		}
		var m callTotals
		if m, err = measureCallers(order.Goroutines, order.Slice, func() error { return pool.call(ctx, request) }); err == nil {
			err = answers.Encode(m)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, pool.Close(ctx), module.Close(), engine.Close(ctx))
}

// callOrder tells a callingHost how many goroutines call, and for how long.
type callOrder struct {
	Goroutines int
	Slice      time.Duration
}

// callingHost is a process that runs serveCallers.
type callingHost struct {
	*server
	orders  *json.Encoder
	answers *json.Decoder
}

func startCallingHost(ctx context.Context) (*callingHost, error) {
	p, err := run(roleCommand(ctx, "callers"))
	if err != nil {
		return nil, err
	}
	return &callingHost{p, json.NewEncoder(p.in), json.NewDecoder(p.out)}, nil
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

// callTotals are the calls of one slice and their cost.
type callTotals struct {
	Rate           float64 // calls per second
	Calls          int
	CPU            time.Duration
	Bytes, Objects uint64
}

// callers are the measurements of calls from several goroutines.
type callers struct {
	callTotals // in all
	rates      []float64
}

func (c *callers) add(all ...callTotals) {
	rate := 0.0
	for _, m := range all {
		rate += m.Rate
		c.Calls += m.Calls
		c.CPU += m.CPU
		c.Bytes += m.Bytes
		c.Objects += m.Objects
	}
	c.rates = append(c.rates, rate)
}

// ask has n goroutines of each host call for the duration of a slice, all at the same time.
func (c *callers) ask(n int, slice time.Duration, hosts ...*callingHost) error {
	for _, h := range hosts {
		if err := h.orders.Encode(callOrder{n, slice}); err != nil {
			return err
		}
	}
	all := make([]callTotals, len(hosts))
	for i, h := range hosts {
		if err := h.answers.Decode(&all[i]); err != nil {
			rest, _ := io.ReadAll(h.log)
			return fmt.Errorf("%w: %s", err, rest)
		}
	}
	c.add(all...)
	return nil
}

// measureCallers calls from n goroutines for the duration of a slice.
func measureCallers(n int, slice time.Duration, call func() error) (callTotals, error) {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	spent, begin := cpuOf(os.Getpid()), time.Now()
	counts, errs := make([]int, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			calls := 0
			for errs[i] == nil && (calls == 0 || time.Since(begin) < slice) {
				errs[i] = call()
				calls++
			}
			counts[i] = calls
		})
	}
	group.Wait()
	took := time.Since(begin)
	m := callTotals{CPU: cpuOf(os.Getpid()) - spent}
	goruntime.ReadMemStats(&after)
	for _, n := range counts {
		m.Calls += n
	}
	m.Rate = float64(m.Calls) / took.Seconds()
	m.Bytes, m.Objects = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
	return m, errors.Join(errs...)
}

func (c *callers) row(name string) row {
	return row{Name: name, Value: median(c.rates), Unit: "calls/s",
		note: fmt.Sprintf("CPU %.3g µs/call; %s", microseconds(c.CPU)/float64(c.Calls), spread(c.rates))}
}

// over returns a row of the ratios of the rates of each round.
func (c *callers) over(other callers, name, note string) row {
	all := ratios(c.rates, other.rates)
	return row{Name: name, Value: median(all), Unit: "ratio", note: note + spread(all)}
}
