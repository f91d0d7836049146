package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// warmRun is run for guests with a warm-up, the export "warm".
type warmRun struct{ run }

func (warmRun) WarmExport() string { return "warm" }

// Indices in warmGuest.
const (
	gWarm  = 0 // a global that a test's warm-up sets
	gTimes = 1 // a global that counts the runs of an instance
)

// warmGuest returns a guest with this warm-up. run returns 1000 × the byte at 64 + 100 × gWarm + the number of earlier
// runs of the same instance.
func warmGuest(warm ...[]byte) *w.Module {
	var m w.Module
	m.Import("h", "f", nil, []byte{w.I32})
	m.Memory(1, w.None)
	m.Global(w.I32, 0)
	m.Global(w.I32, 0)
	add, mul := []byte{0x6a}, []byte{0x6c}
	m.Export("run", m.Func(nil, []byte{w.I32}, nil,
		w.I32Const(64), []byte{0x2d, 0, 0}, w.I32Const(1000), mul,
		w.GlobalGet(gWarm), w.I32Const(100), mul, add,
		w.GlobalGet(gTimes), add,
		w.GlobalGet(gTimes), w.I32Const(1), add, w.GlobalSet(gTimes)))
	m.Export("warm", m.Func(nil, []byte{w.I32}, nil, warm...))
	return &m
}

// warms sets gWarm and the byte at 64.
var warms = w.Code(w.I32Const(1), w.GlobalSet(gWarm), w.I32Const(64), w.I32Const(1), []byte{0x3a, 0, 0})

func answerOf(t *testing.T, p *runtime.Pool, r runtime.Request) string {
	t.Helper()
	got, err := p.Call(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestPool_warmUp_isInEveryCall(t *testing.T) {
	for state, want := range map[runtime.State][3]string{
		runtime.StateCall:    {"1100", "1100", "1100"},
		runtime.StateFresh:   {"0", "0", "0"}, // it starts within the call
		runtime.StateSession: {"1100", "1101", "1102"},
		runtime.StatePlugin:  {"1100", "1101", "1102"},
	} {
		t.Run(string(state), func(t *testing.T) {
			m := compile(t, hostF(t, one), warmGuest(warms, w.I32Const(0)))
			p := runtime.NewPool(m, warmRun{}, &runtime.PoolOptions{State: state, Cold: func(err error) { t.Error(err) }})
			var got [3]string
			for i := range got {
				got[i] = answerOf(t, p, runtime.Request{Session: "s", Caller: fmt.Sprint("caller ", i)})
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// An image is the same in every host, for every first caller.
func TestPool_warmUp_imageIsTheSameInEveryHost(t *testing.T) {
	var images [2][]byte
	for i := range images {
		m := compile(t, hostF(t, one), warmGuest(warms, w.I32Const(0)))
		p := runtime.NewPool(m, warmRun{}, nil)
		answerOf(t, p, runtime.Request{Caller: fmt.Sprint("caller ", i)})
		images[i] = p.Image()
	}
	if len(images[0]) != 1<<16 || images[0][64] != 1 || !bytes.Equal(images[0], images[1]) {
		t.Errorf("got images of %d and %d bytes, equal %v; want two warm ones of 65536 that are equal", len(images[0]), len(images[1]), bytes.Equal(images[0], images[1]))
	}
}

// After a failed warm-up, calls begin with the state from before it, and it is not tried again.
func TestPool_warmUp_failureLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	abort := func(err error) func(context.Context, runtime.Memory, []uint64) {
		return func(context.Context, runtime.Memory, []uint64) { runtime.Abort(err) }
	}
	wrong := func(params, results []byte, code ...[]byte) *w.Module {
		m := guest(w.I32Const(0))
		m.Export("warm", m.Func(params, results, nil, code...))
		return m
	}
	zero, callF := w.I32Const(0), w.Call(0)
	grow := func(pages int32) []byte { return w.Code(w.I32Const(pages), w.MemoryGrow, w.Drop) }
	for name, c := range map[string]struct {
		m    *w.Module
		f    func(context.Context, runtime.Memory, []uint64)
		want string
	}{
		"endless":              {m: warmGuest(warms, forever), want: "limit: the call used up its 500000000 units of fuel"},
		"endless host calls":   {m: warmGuest(warms, w.LoopVoid, callF, w.Drop, w.Br(0), w.End, w.Unreachable), want: "limit: the call used up its 500000000 units of fuel"},
		"trap":                 {m: warmGuest(warms, w.Unreachable), want: "trap: the guest trapped: unreachable"},
		"recursion":            {m: warmGuest(warms, w.Call(2)), want: "trap: the guest trapped: call stack exhausted"},
		"exit":                 {m: warmGuest(warms, callF), f: func(context.Context, runtime.Memory, []uint64) { runtime.Exit(3) }, want: "exit: the guest exited with code 3"},
		"exit 0":               {m: warmGuest(warms, callF), f: func(context.Context, runtime.Memory, []uint64) { runtime.Exit(0) }, want: "exit: the guest exited with code 0"},
		"denied":               {m: warmGuest(warms, callF), f: abort(runtime.AskErrorf(runtime.KindDenied, "no")), want: "denied: no"},
		"fault of the host":    {m: warmGuest(warms, callF), f: abort(boom), want: "internal: the host failed while it served this call"},
		"its own failure":      {m: warmGuest(warms, w.I32Const(7)), want: "guest: it ended with 7"},
		"memory":               {m: warmGuest(warms, grow(257), zero), want: "limit: it added 16448 KiB of memory, at most 16 MiB are allowed"},
		"more than the limit":  {m: warmGuest(warms, grow(1024), w.Unreachable), want: "trap: the guest trapped: unreachable, after it was refused more than 64 MiB of memory (limits.memory)"},
		"more than it returns": {m: wrong(nil, nil), want: `guest: the exported function "warm" has the type () -> () instead of () -> i32`},
		"parameters":           {m: wrong([]byte{w.I32}, []byte{w.I32}, zero), want: `guest: the exported function "warm" has the type (i32) -> i32 instead of () -> i32`},
	} {
		// In the bubble only the fuel ends a guest that runs, however slow the machine is.
		t.Run(name, func(t *testing.T) {
			if c.f == nil {
				c.f = one
			}
			synctest.Test(t, func(t *testing.T) { coldOnce(t, compile(t, hostF(t, c.f), c.m), c.want) })
		})
	}
}

// coldOnce checks that two images are taken without the warm-up, which is tried once and fails with a reason.
func coldOnce(t *testing.T, m *runtime.Module, want string) {
	t.Helper()
	var reasons []string
	p := runtime.NewPool(m, warmRun{}, &runtime.PoolOptions{
		Cold: func(err error) { reasons = append(reasons, err.Error()) },
	})
	for range 2 {
		if got := answerOf(t, p, runtime.Request{}); got != "0" {
			t.Errorf("got %s, want 0, the state from before", got)
		}
		p.DropImage()
	}
	if len(reasons) != 1 || reasons[0] != want {
		t.Errorf("got %q\nwant once %q", reasons, want)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A warm-up may grow memory within its bound, and be refused more than the limit.
func TestPool_warmUp_mayGrow(t *testing.T) {
	p := runtime.NewPool(compile(t, hostF(t, one), warmGuest(warms, w.I32Const(256), w.MemoryGrow, w.Drop, w.I32Const(1<<14), w.MemoryGrow, w.Drop, w.I32Const(0))),
		warmRun{}, &runtime.PoolOptions{Cold: func(err error) { t.Error(err) }})
	for range 2 {
		if got := answerOf(t, p, runtime.Request{}); got != "1100" {
			t.Errorf("got %s, want 1100", got)
		}
	}
}

// A warm-up that waits is ended, and does not use up the time of the start.
func TestPool_warmUp_isEndedWhenItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) { <-ctx.Done() })
		var reason error
		p := runtime.NewPool(compile(t, e, warmGuest(warms, w.Call(0))), warmRun{}, &runtime.PoolOptions{
			Limits: runtime.Limits{Start: time.Second}, Cold: func(err error) { reason = err },
		})
		if got := answerOf(t, p, runtime.Request{}); got != "0" || reason == nil || reason.Error() != "deadline: it took longer than 2s" {
			t.Errorf("got %s, %v; want \"0\", an error", got, reason)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the call took %s, want 2s", took)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// startGate is a gate with a name.
type startGate struct {
	attackGate
	name string
}

// The warm-up has its own gate, which no call has, after that of the start.
func TestPool_warmUp_hasItsOwnGate(t *testing.T) {
	var seen []string
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
		g, _ := runtime.GateFrom(ctx).(*startGate)
		if g == nil {
			g = &startGate{name: "none"}
		}
		seen = append(seen, g.name)
		stack[0] = 0
	})
	m := warmGuest(w.Call(0))
	m.Export("_initialize", m.Func(nil, nil, nil, w.Call(0), w.Drop))
	m.Export("ask", m.Func(nil, []byte{w.I32}, nil, w.Call(0)))
	open := func(name string) func() (runtime.Gate, func()) {
		return func() (runtime.Gate, func()) {
			return &startGate{name: name}, func() { seen = append(seen, name+" closed") }
		}
	}
	p := runtime.NewPool(compile(t, e, m), warmRun{}, &runtime.PoolOptions{Start: open("start"), Warm: open("warm")})
	if _, err := p.Call(context.Background(), runtime.Request{}, &startGate{name: "call"}); err != nil {
		t.Fatal(err)
	}
	if want := "[start start closed warm warm closed]"; fmt.Sprint(seen) != want {
		t.Errorf("got %v, want %s", seen, want)
	}
}

// A plugin can be closed while its warm-up waits.
func TestPool_closeEndsWarmUp(t *testing.T) {
	waiting := make(chan struct{})
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) { close(waiting); <-ctx.Done() })
	p := runtime.NewPool(compile(t, e, warmGuest(warms, w.Call(0))), warmRun{}, &runtime.PoolOptions{Cold: func(err error) { t.Error(err) }})
	ended := make(chan error)
	go func() { ended <- callErr(p) }()
	<-waiting
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if err := p.Close(stopped); err != nil {
		t.Error(err)
	}
	wantEnd(t, <-ended, runtime.KindCancelled, "the plugin was closed")
}
