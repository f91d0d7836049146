package runtime_test

import (
	"context"
	"errors"
	"math/rand/v2"
	goruntime "runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// errand is the gate of one call of the stress test: the guest's task, and the caller's number.
type errand struct {
	runtime.Gate
	order, number int32
}

// The tasks of a guest besides its result.
const (
	answers = iota
	traps
	loops
	grows
)

// errands returns the guests' host functions.
func errands() []runtime.HostFunc {
	f := func(name string, get func(*errand) int32) runtime.HostFunc {
		return runtime.HostFunc{Module: "h", Name: name, Results: []byte{w.I32}, Call: func(ctx context.Context, _ runtime.Memory, stack []uint64) {
			if e, ok := runtime.GateFrom(ctx).(*errand); ok {
				stack[0] = uint64(uint32(get(e)))
			}
		}}
	}
	return []runtime.HostFunc{f("order", func(e *errand) int32 { return e.order }), f("number", func(e *errand) int32 { return e.number })}
}

// messenger returns the caller's number, plus any remains of an earlier call in memory, at its end and in a global.
func messenger(pages int) *w.Module {
	m := new(w.Module)
	order := m.Import("h", "order", nil, []byte{w.I32})
	number := m.Import("h", "number", nil, []byte{w.I32})
	m.Memory(pages, w.None)
	g := m.Global(w.I32, 0)
	last := int32(pages)<<16 - 4
	m.Export("run", m.Func(nil, []byte{w.I32}, nil,
		w.I32Const(0), w.I32Load(0), w.I32Const(last), w.I32Load(0), w.I32Add, w.GlobalGet(g), w.I32Add,
		w.I32Const(0), w.Call(number), w.I32Store(0), w.I32Const(last), w.Call(number), w.I32Store(0), w.Call(number), w.GlobalSet(g),
		w.Call(order), w.I32Const(traps), []byte{0x46}, w.IfVoid, w.Unreachable, w.End,
		w.Call(order), w.I32Const(loops), []byte{0x46}, w.IfVoid, w.LoopVoid, w.Br(0), w.End, w.End,
		w.Call(order), w.I32Const(grows), []byte{0x46}, w.IfVoid, w.I32Const(2), w.MemoryGrow, w.Drop, w.End,
		w.Call(number), w.I32Add))
	return m
}

// TestPool_manyPluginsShareTheHostUnderStress makes calls from many goroutines to many plugins, some of which fail,
// are cancelled, or are replaced during the call. Every result must belong to its caller, and no state or resource
// may remain.
func TestPool_manyPluginsShareTheHostUnderStress(t *testing.T) {
	calls := 100_000
	if testing.Short() {
		calls = 4_000
	}
	runtime.Restores() // resources that the process opens only once are open from here on
	before := held()
	e, err := runtime.NewEngine(context.Background(), &runtime.EngineOptions{Host: errands()})
	if err != nil {
		t.Fatal(err)
	}
	s := &stress{T: t, plugins: make([]atomic.Pointer[runtime.Pool], 20)}
	for i := range 4 {
		s.modules = append(s.modules, compile(t, e, messenger(i+1)))
	}
	for i := range s.plugins {
		s.plugins[i].Store(s.pool(i))
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() { s.run(uint64(g), calls/16) })
	}
	wg.Wait()
	for i := range s.plugins {
		s.close(s.plugins[i].Load())
	}
	for _, m := range s.modules {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	t.Logf("%d answers, %d other ends, %d replacements", s.answered.Load(), s.ended.Load(), s.replaced.Load())
	if s.answered.Load() < int64(calls)/2 || s.replaced.Load() == 0 {
		t.Error("too little happened")
	}
	spare := 60 // mappings of the Go runtime; a leak of one per failed call would be hundreds
	if raceEnabled {
		spare = 300
	}
	var after holding
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		goruntime.GC()
		if after = held(); after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.mappings <= before.mappings+spare {
			break
		}
	}
	if after.goroutines > before.goroutines || after.descriptors > before.descriptors || after.mappings > before.mappings+spare {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

type stress struct {
	*testing.T
	modules                   []*runtime.Module
	plugins                   []atomic.Pointer[runtime.Pool]
	answered, ended, replaced atomic.Int64
}

func (s *stress) pool(plugin int) *runtime.Pool {
	return runtime.NewPool(s.modules[plugin%len(s.modules)], run{}, &runtime.PoolOptions{
		Limits: runtime.Limits{Memory: 8 << 16, Deadline: 5 * time.Second, Concurrency: 3, Queue: 100}})
}

func (s *stress) close(p *runtime.Pool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // with calls in progress
	if err := p.Close(ctx); err != nil {
		s.Error(err)
	}
}

func (s *stress) run(seed uint64, calls int) {
	r := rand.New(rand.NewPCG(seed, 7))
	for n := range calls {
		plugin := r.IntN(len(s.plugins))
		if r.IntN(2000) == 0 {
			s.close(s.plugins[plugin].Swap(s.pool(plugin)))
			s.replaced.Add(1)
		}
		g := &errand{order: answers, number: int32(seed<<20) + int32(n) + 1}
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		switch r.IntN(400) {
		case 0:
			g.order = traps
		case 1:
			g.order = loops
			ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
		case 2, 3:
			g.order = grows
		case 4, 5:
			ctx, cancel = context.WithCancel(ctx)
			go cancel()
		}
		s.one(ctx, s.plugins[plugin].Load(), g)
		cancel()
	}
}

func (s *stress) one(ctx context.Context, p *runtime.Pool, g *errand) {
	got, err := p.Call(ctx, runtime.Request{}, g)
	var end *runtime.EndError
	switch {
	case err == nil && (g.order == traps || g.order == loops):
		s.Errorf("order %d was answered: %s", g.order, got)
	case err == nil && string(got) != strconv.Itoa(int(g.number)):
		s.Errorf("caller %d got %s", g.number, got)
	case err == nil:
		s.answered.Add(1)
	case !errors.As(err, &end) || end.Kind == runtime.KindInternal:
		s.Errorf("%v: %v", err, errors.Unwrap(err))
	default:
		s.ended.Add(1)
	}
}
