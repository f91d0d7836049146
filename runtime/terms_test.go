package runtime_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// greedyFrom is a guest that begins with some pages, grows by one until that is refused, and returns the pages it has then.
func greedyFrom(pages int) *w.Module {
	var m w.Module
	m.Memory(pages, w.None)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.LoopVoid, w.I32Const(1), w.MemoryGrow, w.I32Const(1), w.I32Add, w.BrIf(0), w.End, w.MemorySize))
	return &m
}

// Each class has its own memory, in instances that all classes use in turn, and may have more than the others.
func TestPool_Call_limitsTheMemoryOfAClass(t *testing.T) {
	for _, way := range runtime.Restores() {
		e := newEngine(t, &runtime.EngineOptions{Restore: way})
		for _, state := range []runtime.State{runtime.StateCall, runtime.StateFresh} {
			p := runtime.NewPool(compile(t, e, greedyFrom(1)), run{}, &runtime.PoolOptions{State: state, Limits: runtime.Limits{Memory: 4 << 16, Concurrency: 1},
				Classes: []runtime.Limits{{Memory: 2 << 16}, {Memory: 9 << 16}, {Deadline: time.Minute}}})
			for range 2 {
				for class, want := range []string{"4", "2", "9", "4"} {
					got, err := p.Call(t.Context(), runtime.Request{Class: class}, nil)
					if err != nil || string(got) != want {
						t.Errorf("%s, %s, class %d: got %s pages, %v; want %s, no error", way, state, class, got, err, want)
					}
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A class with less memory than an instance begins with is refused. An instance that others left larger serves it, and
// grows no more.
func TestPool_Call_refusesAClassWithTooLittleMemory(t *testing.T) {
	m := greedyFrom(3)
	o := runtime.PoolOptions{Limits: runtime.Limits{Memory: 5 << 16}, Classes: []runtime.Limits{{Memory: 2 << 16}}}
	for state, want := range map[runtime.State]string{
		runtime.StateCall:    "the guest has 192 KiB of memory once it has started, and limits.for.memory is 128 KiB",
		runtime.StateFresh:   "the module starts with 192 KiB of memory, and limits.for.memory is 128 KiB",
		runtime.StateSession: "the guest has 192 KiB of memory once it has started, and limits.for.memory is 128 KiB",
		runtime.StatePlugin:  "the guest has 192 KiB of memory once it has started, and limits.for.memory is 128 KiB",
	} {
		o.State = state
		p := runtime.NewPool(compile(t, newEngine(t, nil), m), run{}, &o)
		for range 2 {
			_, err := p.Call(t.Context(), runtime.Request{Session: "s", Class: 1}, nil)
			wantEnd(t, err, runtime.KindLimit, want)
		}
		if got, err := p.Call(t.Context(), runtime.Request{Session: "s"}, nil); err != nil || string(got) != "5" {
			t.Errorf("%s: got %s pages, %v; want 5, no error", state, got, err)
		}
		if state == runtime.StatePlugin {
			if got, err := p.Call(t.Context(), runtime.Request{Session: "s", Class: 1}, nil); err != nil || string(got) != "5" {
				t.Errorf("got %s pages, %v; want the 5 of the call before", got, err)
			}
		}
	}
}

// The errors of a call name the setting that its class sets, and that of all where the class sets none.
func TestPool_Call_namesTheLimitOfAClass(t *testing.T) {
	e := hostF(t, one)
	greedy := guest(w.LoopVoid, w.I32Const(1), w.MemoryGrow, w.I32Const(1), w.I32Add, w.BrIf(0), w.End, w.Unreachable)
	o := runtime.PoolOptions{Limits: runtime.Limits{Memory: 4 << 16, Deadline: 40 * time.Millisecond, Task: 40 * time.Millisecond},
		Classes: []runtime.Limits{{Memory: 3 << 16}, {Deadline: 20 * time.Millisecond, Task: 30 * time.Millisecond}}}
	tooLong, tooMuch := runtime.NewPool(compile(t, e, guest(forever)), run{}, &o), runtime.NewPool(compile(t, e, greedy), run{}, &o)
	for _, c := range []struct {
		pool *runtime.Pool
		req  runtime.Request
		want string
	}{
		{tooLong, runtime.Request{Class: 1}, "in time: limits.deadline is 40ms"},
		{tooLong, runtime.Request{Class: 1, Patient: true}, "in time: limits.task is 40ms"},
		{tooLong, runtime.Request{Class: 2}, "in time: limits.for.deadline is 20ms"},
		{tooLong, runtime.Request{Class: 2, Patient: true}, "in time: limits.for.task is 30ms"},
		{tooMuch, runtime.Request{Class: 1}, "more than 192 KiB of memory (limits.for.memory)"},
		{tooMuch, runtime.Request{Class: 2}, "more than 256 KiB of memory (limits.memory)"},
	} {
		if _, err := c.pool.Call(t.Context(), c.req, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q in it", c.req, err, c.want)
		}
	}
}
