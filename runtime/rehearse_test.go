package runtime_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// rehearsed is a dialect that calls the export named by the method, and rehearses act and peek.
type rehearsed struct{ run }

var _ runtime.Rehearser = rehearsed{}

func (rehearsed) WarmExport() string      { return "warm" }
func (rehearsed) WarmUp() runtime.Request { return runtime.Request{Method: "describe"} }

func (rehearsed) Rehearsals(described json.RawMessage) []runtime.Request {
	if string(described) != "5" {
		panic("the description is missing")
	}
	return []runtime.Request{{Method: "act"}, {Method: "peek"}}
}

func (rehearsed) Serve(ctx context.Context, in *runtime.Instance, r runtime.Request) (json.RawMessage, error) {
	n, err := in.Call(ctx, r.Method)
	return strconv.AppendUint(nil, n, 10), err
}

// actor returns a guest whose export act runs code, and whose export
// look returns the byte at 64, and whose export peek returns a global.
func actor(code ...[]byte) *w.Module {
	var m w.Module
	m.Import("h", "f", nil, []byte{w.I32})
	m.Memory(1, w.None)
	m.Global(w.I32, 0)
	i32 := []byte{w.I32}
	m.Export("describe", m.Func(nil, i32, nil, w.I32Const(5)))
	m.Export("look", m.Func(nil, i32, nil, w.I32Const(64), []byte{0x2d, 0, 0}))
	m.Export("peek", m.Func(nil, i32, nil, w.GlobalGet(0)))
	m.Export("act", m.Func(nil, i32, nil, code...))
	return &m
}

var (
	// caches writes the byte at 64, as code does on first use.
	caches = w.Code(w.I32Const(64), w.I32Const(1), []byte{0x3a, 0, 0})
	// adds adds one to a global.
	adds = w.Code(w.GlobalGet(0), w.I32Const(1), []byte{0x6a}, w.GlobalSet(0))
)

func openRehearsal() (runtime.Gate, func()) { return &attackGate{}, func() {} }

// A rehearsal is in the image only if it is no reason for a call to be answered differently.
func TestPool_rehearsal_isInEveryCallUnlessItShows(t *testing.T) {
	warm := actor(caches, w.I32Const(7))
	warm.Export("warm", warm.Func(nil, []byte{w.I32}, nil, w.I32Const(0)))
	for name, c := range map[string]struct {
		m     *w.Module
		state runtime.State
		want  string
	}{
		"a cache":             {actor(caches, w.I32Const(7)), "", "1"},
		"a kept instance":     {actor(caches, w.I32Const(7)), runtime.StateSession, "0"},
		"an instance for all": {actor(caches, w.I32Const(7)), runtime.StatePlugin, "0"},
		"its own warm-up":     {warm, runtime.StateCall, "0"},
		"a counter":           {actor(caches, adds, w.GlobalGet(0)), runtime.StateCall, "0"},
		"a value set":         {actor(caches, w.I32Const(3), w.GlobalSet(0), w.I32Const(7)), runtime.StateCall, "0"},
		"a trap":              {actor(caches, w.Unreachable), runtime.StateCall, "0"},
		"an endless loop":     {actor(caches, forever, w.I32Const(7)), runtime.StateCall, "0"},
		"a request":           {actor(caches, w.Call(0)), runtime.StateCall, "0"},
		"much memory":         {actor(caches, w.I32Const(257), w.MemoryGrow, w.Drop, w.I32Const(7)), runtime.StateCall, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			e := hostF(t, func(context.Context, runtime.Memory, []uint64) {
				runtime.Abort(runtime.AskErrorf(runtime.KindDenied, "no"))
			})
			p := runtime.NewPool(compile(t, e, c.m), rehearsed{}, &runtime.PoolOptions{State: c.state, Rehearsal: openRehearsal})
			for range 2 {
				if got := answerOf(t, p, runtime.Request{Method: "look", Session: "s"}); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

// A guest starts once for an image, whether its rehearsal shows or not.
func TestPool_rehearsal_needsOneStart(t *testing.T) {
	for name, code := range map[string][]byte{"a cache": w.Code(caches, w.I32Const(7)), "a counter": w.Code(caches, adds, w.GlobalGet(0))} {
		t.Run(name, func(t *testing.T) {
			starts := 0
			start := func() (runtime.Gate, func()) {
				starts++
				return nil, func() {}
			}
			p := runtime.NewPool(compile(t, hostF(t, one), actor(code)), rehearsed{}, &runtime.PoolOptions{Start: start, Rehearsal: openRehearsal})
			answerOf(t, p, runtime.Request{Method: "look"})
			if starts != 1 {
				t.Errorf("got %d starts, want 1", starts)
			}
		})
	}
}

// A second equal call that changes memory or a global shows that the guest keeps something.
func TestPool_rehearse_comparesMemory(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want runtime.Rehearsal
		err  string
	}{
		"keeps nothing":     {w.Code(w.I32Const(7)), runtime.Rehearsal{Calls: 2, SameMemory: true}, ""},
		"a cache":           {w.Code(caches, w.I32Const(7)), runtime.Rehearsal{Calls: 2, SameMemory: true}, ""},
		"a hidden counter":  {w.Code(w.I32Const(64), w.I32Const(64), []byte{0x2d, 0, 0}, w.I32Const(1), []byte{0x6a}, []byte{0x3a, 0, 0}, w.I32Const(7)), runtime.Rehearsal{Calls: 2}, ""},
		"a trap":            {w.Code(w.Unreachable), runtime.Rehearsal{Calls: 1, SameMemory: true}, ""},
		"a visible counter": {w.Code(adds, w.GlobalGet(0)), runtime.Rehearsal{}, "differently"},
		"a growing memory":  {w.Code(w.I32Const(1), w.MemoryGrow, w.Drop, w.I32Const(7)), runtime.Rehearsal{Calls: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := runtime.NewPool(compile(t, hostF(t, one), actor(c.code)), rehearsed{}, &runtime.PoolOptions{Rehearsal: openRehearsal})
			got, err := p.Rehearse()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil || got.Calls != c.want.Calls || got.SameMemory != c.want.SameMemory {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
			if answer := answerOf(t, p, runtime.Request{Method: "peek"}); answer != "0" {
				t.Errorf("got %s afterwards, want 0", answer)
			}
		})
	}
}

// The image of a rehearsal lies behind the dear one of a guest's calls, such as one that extends its heap, and not before it.
func TestPool_rehearsal_endsBehindADearCall(t *testing.T) {
	const every = 8 // calls, one of which is dear
	fill := func(n int32) []byte {
		return w.Code(w.I32Const(1024), w.I32Const(0), w.I32Const(n), []byte{0xfc, 0x0b, 0})
	} // memory.fill
	dear := map[string][]byte{
		"memory":      w.Code(w.I32Const(1), w.MemoryGrow, w.Drop),
		"work":        fill(60_000),
		"little work": fill(5_000),
	}
	for name, code := range dear {
		for first := range int32(every) {
			t.Run(name+" "+strconv.Itoa(int(first)), func(t *testing.T) {
				count := w.Code(w.GlobalGet(1), w.I32Const(1), []byte{0x6a}, w.I32Const(every-1), []byte{0x71}, w.GlobalSet(1))
				due := w.Code(w.GlobalGet(1), []byte{0x45})
				m := actor(count, fill(60_000), due, w.IfVoid, code, w.End, w.I32Const(7))
				m.Global(w.I32, int64(first))
				m.Export("due", m.Func(nil, []byte{w.I32}, nil, count, due))
				p := runtime.NewPool(compile(t, hostF(t, one), m), rehearsed{}, &runtime.PoolOptions{Rehearsal: openRehearsal})
				if got := answerOf(t, p, runtime.Request{Method: "due"}); got != "0" {
					t.Error("the first call behind the image is the dear one")
				}
			})
		}
	}
}

// A guest that never stops to grow is rehearsed twice, as is one that computes or waits for long in a later round. One
// whose answer changes there, or that ends, is not rehearsed at all.
func TestPool_rehearsal_withoutEnd(t *testing.T) {
	calls := w.Code(w.GlobalGet(1), w.I32Const(1), []byte{0x6a}, w.GlobalSet(1))
	fifth := w.Code(w.GlobalGet(1), w.I32Const(5), []byte{0x46})
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"grows":    {w.Code(calls, w.I32Const(1), w.MemoryGrow, w.Drop, w.I32Const(7)), "2"},
		"turns":    {w.Code(calls, w.GlobalGet(1), w.I32Const(3), []byte{0x4a}), "0"},
		"is calm":  {w.Code(calls, w.I32Const(7)), "2"},
		"computes": {w.Code(calls, fifth, w.IfVoid, forever, w.End, w.I32Const(7)), "2"},
		"waits":    {w.Code(calls, fifth, w.IfVoid, w.Call(0), w.Drop, w.End, w.I32Const(7)), "2"},
		"traps":    {w.Code(calls, fifth, w.IfVoid, w.Unreachable, w.End, w.I32Const(7)), "0"},
		"exits":    {w.Code(calls, fifth, w.IfVoid, w.Call(0), w.Drop, w.End, w.I32Const(7)), "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := actor(c.code)
			m.Global(w.I32, 0)
			m.Export("calls", m.Func(nil, []byte{w.I32}, nil, w.GlobalGet(1)))
			e := hostF(t, func(ctx context.Context, _ runtime.Memory, _ []uint64) {
				if name == "waits" {
					<-ctx.Done()
				}
				runtime.Abort(runtime.AskErrorf(runtime.KindDenied, "no"))
			})
			p := runtime.NewPool(compile(t, e, m), rehearsed{}, &runtime.PoolOptions{Rehearsal: openRehearsal})
			if got := answerOf(t, p, runtime.Request{Method: "calls"}); got != c.want {
				t.Errorf("got %s calls in the image, want %s", got, c.want)
			}
		})
	}
}
