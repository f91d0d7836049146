package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// run is the dialect of these tests: it calls the export "run" and returns its result.
type run struct{}

func (run) Name() string { return "test" }

func (run) Serve(ctx context.Context, in *runtime.Instance, _ runtime.Request) (json.RawMessage, error) {
	n, err := in.Call(ctx, "run")
	if err != nil {
		return nil, err
	}
	return json.RawMessage(strconv.Itoa(int(int32(n)))), nil
}

// serve makes a dialect of a function.
type serve func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error)

func (serve) Name() string { return "test" }
func (s serve) Serve(ctx context.Context, in *runtime.Instance, _ runtime.Request) (json.RawMessage, error) {
	return s(ctx, in)
}

func callErr(p *runtime.Pool) error {
	_, err := p.Call(context.Background(), runtime.Request{}, nil)
	return err
}

// wantEnd fails unless err is an EndError of this kind whose message contains the text.
func wantEnd(t *testing.T, err error, kind runtime.Kind, text string) *runtime.EndError {
	t.Helper()
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Kind != kind || !strings.Contains(end.Message, text) {
		t.Fatalf("got %v\nwant %s: %s", err, kind, text)
	}
	if strings.ContainsAny(end.Message, "\n\t") || strings.Contains(end.Message, "stack trace") {
		t.Errorf("got message %q, want it without the guest's stack", end.Message)
	}
	return end
}

// eventually polls until ok returns true. It is for the counters of a pool, whose changes are no events.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for range time.Minute / time.Millisecond {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("got no true condition in time, want one")
}

// guest returns a module whose run is this code, with host functions and a memory of one page.
func guest(parts ...[]byte) *w.Module {
	var m w.Module
	m.Import("h", "f", nil, []byte{w.I32})
	m.Memory(1, w.None)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, parts...))
	return &m
}

// hostF returns an engine whose one host function is f.
func hostF(t testing.TB, f func(ctx context.Context, mem runtime.Memory, stack []uint64)) *runtime.Engine {
	return newEngine(t, &runtime.EngineOptions{Host: []runtime.HostFunc{{Module: "h", Name: "f", Results: []byte{w.I32}, Call: f}}})
}

func one(_ context.Context, _ runtime.Memory, stack []uint64) { stack[0] = 1 }

// forever loops until it is interrupted; the unreachable after it satisfies validation.
var forever = w.Code(w.LoopVoid, w.Br(0), w.End, w.Unreachable)

func TestPool_Call_tellsEndingsApart(t *testing.T) {
	boom := errors.New("boom")
	abort := func(err error) func(context.Context, runtime.Memory, []uint64) {
		return func(context.Context, runtime.Memory, []uint64) { runtime.Abort(err) }
	}
	callF := guest(w.Call(0))
	start := guest(w.I32Const(1))
	start.Start(start.Func(nil, nil, nil, w.Unreachable))
	initialize := guest(w.I32Const(1))
	initialize.Export("_initialize", initialize.Func(nil, nil, nil, w.LoopVoid, w.Br(0), w.End))
	wrongInit := guest(w.I32Const(1))
	wrongInit.Export("_initialize", wrongInit.Func([]byte{w.I32}, nil, nil))
	overflow := guest(w.Call(1))
	missing := new(w.Module)
	missing.Export("other", missing.Func(nil, nil, nil))
	bigger := new(w.Module)
	bigger.Memory(3, w.None)

	for name, c := range map[string]struct {
		m      *w.Module
		f      func(context.Context, runtime.Memory, []uint64)
		limits runtime.Limits
		kind   runtime.Kind
		text   string
		is     error
	}{
		"unreachable":     {m: guest(w.Unreachable), kind: runtime.KindTrap, text: "the guest trapped: unreachable"},
		"division":        {m: guest(w.I32Const(1), w.I32Const(0), w.I32DivS), kind: runtime.KindTrap, text: "integer divide by zero"},
		"memory":          {m: guest(w.I32Const(-1), w.I32Load(0)), kind: runtime.KindTrap, text: "out of bounds memory access"},
		"recursion":       {m: overflow, kind: runtime.KindTrap, text: "the guest trapped: call stack exhausted"},
		"start":           {m: start, kind: runtime.KindTrap, text: "unreachable"},
		"deadline":        {m: guest(forever), limits: runtime.Limits{Deadline: 30 * time.Millisecond}, kind: runtime.KindDeadline, text: "the guest did not answer in time: limits.deadline is 30ms", is: context.DeadlineExceeded},
		"start-up":        {m: initialize, limits: runtime.Limits{Start: 30 * time.Millisecond}, kind: runtime.KindDeadline, text: "the guest did not start in time", is: context.DeadlineExceeded},
		"wrong start-up":  {m: wrongInit, kind: runtime.KindGuest, text: `the exported function "_initialize" has the type (i32) -> (), which takes 1 parameters instead of 0`},
		"exit":            {m: callF, f: func(context.Context, runtime.Memory, []uint64) { runtime.Exit(2) }, kind: runtime.KindExit, text: "the guest exited with code 2"},
		"exit 0":          {m: callF, f: func(context.Context, runtime.Memory, []uint64) { runtime.Exit(0) }, kind: runtime.KindExit, text: "the guest exited with code 0"},
		"exit as cancel":  {m: callF, f: func(context.Context, runtime.Memory, []uint64) { runtime.Exit(0xffffffff) }, kind: runtime.KindExit, text: "code 4294967295"},
		"exit as timeout": {m: callF, f: func(context.Context, runtime.Memory, []uint64) { runtime.Exit(0xefffffff) }, kind: runtime.KindExit, text: "code 4026531839"},
		"abort":           {m: callF, f: abort(boom), kind: runtime.KindInternal, text: "the host failed while it served this call", is: boom},
		"abort end":       {m: callF, f: abort(fmt.Errorf("x: %w", &runtime.EndError{Kind: runtime.KindLimit, Message: "the answer is over the limit", Err: boom})), kind: runtime.KindLimit, text: "the answer is over the limit", is: boom},
		"abort ask":       {m: callF, f: abort(&runtime.AskError{Kind: runtime.KindDenied, Message: "no grant"}), kind: runtime.KindDenied, text: "no grant"},
		"abort context":   {m: callF, f: abort(context.Canceled), kind: runtime.KindCancelled, text: "the call was cancelled", is: context.Canceled},
		"host panic":      {m: callF, f: func(_ context.Context, _ runtime.Memory, s []uint64) { s[99] = 1 }, kind: runtime.KindInternal, text: "the host failed"},
		"host nonsense":   {m: callF, f: func(context.Context, runtime.Memory, []uint64) { panic("nonsense") }, kind: runtime.KindInternal, text: "the host failed"},
		"no export":       {m: missing, kind: runtime.KindGuest, text: `the module does not export the function "run"`},
		"memory at start": {m: bigger, limits: runtime.Limits{Memory: 2 << 16}, kind: runtime.KindLimit, text: "the module starts with 192 KiB of memory, and limits.memory is 128 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.f == nil {
				c.f = one
			}
			p := runtime.NewPool(compile(t, hostF(t, c.f), c.m), run{}, &runtime.PoolOptions{Limits: c.limits})
			end := wantEnd(t, callErr(p), c.kind, c.text)
			if c.is != nil && !errors.Is(end, c.is) {
				t.Errorf("got error %v, want %v", end.Err, c.is)
			}
			switch c.kind {
			case runtime.KindTrap, runtime.KindExit, runtime.KindInternal:
				if end.Stack == "" && name != "recursion" { // the engine reports no stack for this case
					t.Error("got no stack, want the guest's")
				}
			}
		})
	}
}

// The guest's stack trace is recorded for the log, bounded and as valid text.
func TestPool_Call_recordsABoundedStackTrace(t *testing.T) {
	name := strings.Repeat("é", 20_000)
	m := guest(w.Unreachable)
	m.Custom("name", w.Code([]byte{1}, w.Bytes(w.Code([]byte{1}, w.U32(1), w.Name(name)))))
	end := wantEnd(t, callErr(runtime.NewPool(compile(t, hostF(t, one), m), run{}, nil)), runtime.KindTrap, "unreachable")
	if n := len(end.Stack); n < 10_000 || n > 17_000 || !utf8.ValidString(end.Stack) || !strings.Contains(end.Stack, "éé") {
		t.Errorf("got a stack of %d bytes, %.80q; want 10000 to 17000 bytes of UTF-8 with \"éé\"", n, end.Stack)
	}
}

// The call after any kind of failure gets a clean instance.
func TestPool_Call_isCleanAfterAnyFailure(t *testing.T) {
	var turn atomic.Int32
	e := hostF(t, func(_ context.Context, _ runtime.Memory, stack []uint64) { stack[0] = uint64(turn.Load()) })
	m := new(w.Module)
	m.Import("h", "f", nil, []byte{w.I32})
	m.Memory(1, 1)
	g := m.Global(w.I32, 0)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil,
		// The result would show state that an earlier call left in memory or in the global.
		w.I32Const(0), w.I32Load(0), w.GlobalGet(g), w.I32Add,
		w.I32Const(0), w.I32Const(7), w.I32Store(0), w.I32Const(7), w.GlobalSet(g),
		w.Call(0), w.I32Eqz, w.IfVoid, w.Unreachable, w.End,
		w.Call(0), w.I32Const(1), w.I32Add, w.I32Eqz, w.IfVoid, w.LoopVoid, w.Br(0), w.End, w.End,
	))
	p := runtime.NewPool(compile(t, e, m), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: time.Second}})
	for _, c := range []struct {
		turn int32
		kind runtime.Kind
	}{{0, runtime.KindTrap}, {1, ""}, {-1, runtime.KindDeadline}, {1, ""}, {0, runtime.KindTrap}, {1, ""}, {1, ""}} {
		turn.Store(c.turn)
		got, err := p.Call(context.Background(), runtime.Request{}, nil)
		for range 100 { // the machine can be slower than the deadline
			if end, ok := errors.AsType[*runtime.EndError](err); !ok || end.Kind != runtime.KindDeadline || c.kind == runtime.KindDeadline {
				break
			}
			got, err = p.Call(context.Background(), runtime.Request{}, nil)
		}
		if c.kind != "" {
			wantEnd(t, err, c.kind, "")
		} else if err != nil || string(got) != "0" {
			t.Errorf("got %s, %v; want \"0\", no error", got, err)
		}
	}
}

func TestPool_Call_limitsMemory(t *testing.T) {
	e := hostF(t, one)
	// grow returns the result of memory.grow for a number of pages.
	grow := func(pages int32) *w.Module { return guest(w.I32Const(pages), w.MemoryGrow) }
	limits := runtime.Limits{Memory: 4 << 16}
	for pages, want := range map[int32]string{0: "1", 3: "1", 4: "-1", 65535: "-1", -1: "-1"} {
		got, err := runtime.NewPool(compile(t, e, grow(pages)), run{}, &runtime.PoolOptions{Limits: limits}).Call(context.Background(), runtime.Request{}, nil)
		if err != nil || string(got) != want {
			t.Errorf("%d pages: got %s, %v; want %s, no error", pages, got, err, want)
		}
	}
	greedy := guest(w.LoopVoid, w.I32Const(1), w.MemoryGrow, w.I32Const(1), w.I32Add, w.BrIf(0), w.End, w.Unreachable)
	wantEnd(t, callErr(runtime.NewPool(compile(t, e, greedy), run{}, &runtime.PoolOptions{Limits: limits})), runtime.KindTrap,
		"unreachable, after it was refused more than 256 KiB of memory (limits.memory)")
	empty := new(w.Module) // of initially no pages
	empty.Memory(0, w.None)
	empty.Export("run", empty.Func(nil, []byte{w.I32}, nil, w.I32Const(2), w.MemoryGrow, w.Drop,
		w.I32Const(100_000), w.I32Const(8), w.I32Store(0), w.I32Const(100_000), w.I32Load(0), w.MemorySize, w.I32Add))
	if got, err := runtime.NewPool(compile(t, e, empty), run{}, &runtime.PoolOptions{Limits: limits}).Call(context.Background(), runtime.Request{}, nil); string(got) != "10" {
		t.Errorf("empty memory: got %s, %v; want 10", got, err)
	}
	size := guest(w.LoopVoid, w.I32Const(1), w.MemoryGrow, w.I32Const(1), w.I32Add, w.BrIf(0), w.End, w.MemorySize)
	if got, err := runtime.NewPool(compile(t, e, size), run{}, &runtime.PoolOptions{Limits: limits}).Call(context.Background(), runtime.Request{}, nil); string(got) != "4" {
		t.Errorf("got %s pages, %v; want 4", got, err)
	}
}

func TestPool_Call_endsWithItsContext(t *testing.T) {
	e := hostF(t, one)
	p := runtime.NewPool(compile(t, e, guest(forever)), run{}, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("the client went away")
	time.AfterFunc(20*time.Millisecond, func() { cancel(reason) })
	_, err := p.Call(ctx, runtime.Request{}, nil)
	end := wantEnd(t, err, runtime.KindCancelled, "the call was cancelled")
	if !errors.Is(end, reason) || !errors.Is(end, context.Canceled) {
		t.Errorf("got cause %v, want %v and %v", end.Err, reason, context.Canceled)
	}
	_, err = p.Call(ctx, runtime.Request{}, nil) // cancelled before it began
	wantEnd(t, err, runtime.KindCancelled, "the call was cancelled")

	late, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	_, err = p.Call(late, runtime.Request{}, nil)
	end = wantEnd(t, err, runtime.KindDeadline, "the deadline was exceeded")
	if !errors.Is(end, context.DeadlineExceeded) {
		t.Errorf("got cause %v, want %v", end.Err, context.DeadlineExceeded)
	}
}

// A waiting host function sees the deadline, and the guest ends although it would continue without a loop.
func TestPool_Call_endsAfterAWaitingHostFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
			<-ctx.Done()
			stack[0] = 3
		})
		trap := guest(w.Call(0), w.Drop, w.Unreachable)
		for name, m := range map[string]*w.Module{"answers": guest(w.Call(0)), "traps": trap} {
			p := runtime.NewPool(compile(t, e, m), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: time.Second}})
			got, err := p.Call(t.Context(), runtime.Request{}, nil)
			if err != nil || name == "traps" {
				wantEnd(t, err, runtime.KindDeadline, "the guest did not answer in time")
			} else if string(got) != "3" { // it was faster than the clock
				t.Errorf("%s: got %s, want \"3\"", name, got)
			}
		}
	})
}

// TestPool_Call_boundsRunningAndWaitingCalls checks the limits of running and waiting calls, and that a waiting call
// observes its context.
func TestPool_Call_boundsRunningAndWaitingCalls(t *testing.T) {
	var running, most atomic.Int32
	leave := make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	e := hostF(t, func(_ context.Context, _ runtime.Memory, stack []uint64) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-leave
		running.Add(-1)
		stack[0] = 5
	})
	t.Cleanup(release) // before the engine is closed, if the test fails
	p := runtime.NewPool(compile(t, e, guest(w.Call(0))), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: 2, Queue: 3}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, err := p.Call(context.Background(), runtime.Request{}, nil); err != nil || string(got) != "5" {
				t.Errorf("got %s, %v; want \"5\", no error", got, err)
			}
		})
	}
	eventually(t, func() bool { return p.Inside() == 4 && running.Load() == 2 })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, runtime.Request{}, nil)
		gaveUp <- err
	}()
	eventually(t, func() bool { return p.Inside() == 5 })
	wantEnd(t, callErr(p), runtime.KindLimit, "too many calls: 2 run and 3 wait")
	cancel()
	wantEnd(t, <-gaveUp, runtime.KindCancelled, "the call was cancelled")
	release()
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("got %d calls at once, want 2", most.Load())
	}
}

func TestPool_closeWaitsForCalls(t *testing.T) {
	leave := make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	e := hostF(t, func(_ context.Context, _ runtime.Memory, stack []uint64) {
		<-leave
		stack[0] = 9
	})
	t.Cleanup(release)
	p := runtime.NewPool(compile(t, e, guest(w.Call(0))), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: 1}})
	answers := make(chan string, 2)
	for range 2 { // one runs, one waits
		go func() {
			got, err := p.Call(context.Background(), runtime.Request{}, nil)
			answers <- fmt.Sprint(string(got), err)
		}()
	}
	eventually(t, func() bool { return p.Inside() == 2 })
	closed := make(chan error, 1)
	go func() { closed <- p.Close(context.Background()) }()
	eventually(t, p.Closed)
	wantEnd(t, callErr(p), runtime.KindUnavailable, "the plugin is not loaded any more")
	select {
	case err := <-closed:
		t.Fatalf("got the pool closed under a call (%v), want it open", err)
	default:
	}
	release()
	for range 2 {
		if got := <-answers; got != "9<nil>" {
			t.Errorf("a call that was let in: got %s, want \"9<nil>\"", got)
		}
	}
	if err := errors.Join(<-closed, p.Close(context.Background())); err != nil {
		t.Error(err)
	}
}

// Calls in progress when the context of Close is done are cancelled, with the cause.
func TestPool_closeCancelsCallsWithItsContext(t *testing.T) {
	p := runtime.NewPool(compile(t, hostF(t, one), guest(forever)), run{}, nil)
	errs := make(chan error, 3)
	for range 3 {
		go func() { errs <- callErr(p) }()
	}
	eventually(t, func() bool { return p.Inside() == 3 })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	for range 3 {
		wantEnd(t, <-errs, runtime.KindCancelled, "the plugin was closed during the call")
	}
}

func TestPool_outlivesItsClosedModule(t *testing.T) {
	e := hostF(t, one)
	m := compile(t, e, guest(w.I32Const(3)))
	before := runtime.NewPool(m, run{}, nil)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := before.Call(context.Background(), runtime.Request{}, nil); string(got) != "3" || err != nil {
		t.Errorf("a pool keeps its module: got %s, %v; want \"3\", no error", got, err)
	}
	after := runtime.NewPool(m, run{}, nil)
	wantEnd(t, callErr(after), runtime.KindUnavailable, "the plugin is not loaded any more")
	if err := errors.Join(before.Close(context.Background()), after.Close(context.Background())); err != nil {
		t.Error(err)
	}
}

// A faulty dialect is reported as a fault of the host, and harms no other call.
func TestPool_reportsFaultsOfADialect(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		d    serve
		kind runtime.Kind
		text string
	}{
		"panic": {func(context.Context, *runtime.Instance) (json.RawMessage, error) { panic("oh") }, runtime.KindInternal, "the host failed"},
		"error": {func(context.Context, *runtime.Instance) (json.RawMessage, error) { return nil, boom }, runtime.KindInternal, "the host failed"},
		"params": {func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			_, err := in.Call(ctx, "run", 1, 2)
			return nil, err
		}, runtime.KindGuest, `the exported function "run" has the type () -> i32, which takes 0 parameters instead of 2`},
		"after the end": {func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			_, _ = in.Call(ctx, "trap")
			_, err := in.Call(ctx, "run")
			return nil, err
		}, runtime.KindInternal, "the host failed"},
		"type": {func(_ context.Context, in *runtime.Instance) (json.RawMessage, error) {
			return nil, in.Check("run", []byte{w.I32}, []byte{w.I32})
		}, runtime.KindGuest, `the exported function "run" has the type () -> i32 instead of (i32) -> i32`},
	} {
		t.Run(name, func(t *testing.T) {
			m := guest(w.I32Const(1))
			m.Export("trap", m.Func(nil, nil, nil, w.Unreachable))
			wantEnd(t, callErr(runtime.NewPool(compile(t, hostF(t, one), m), c.d, nil)), c.kind, c.text)
		})
	}
}

func TestInstance_callsTheGuestAndBoundsMemoryAccess(t *testing.T) {
	guestErr := &runtime.GuestError{Code: -32602, Message: "no such tool"}
	m := guest(w.I32Const(1))
	m.Export("grow", m.Func(nil, nil, nil, w.I32Const(1), w.MemoryGrow, w.Drop))
	m.Export("two", m.Func([]byte{w.I64, w.I64}, []byte{w.I64}, nil, w.LocalGet(0), w.LocalGet(1), []byte{0x7c}))
	m.Data(100, []byte("hello"))
	d := serve(func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
		mem := in.Memory()
		if p, ok := mem.Read(100, 5); !ok || string(p) != "hello" || mem.Size() != 65536 {
			t.Errorf("got %q, %v, %d; want \"hello\", true, 65536", p, ok, mem.Size())
		}
		if _, ok := mem.Read(65535, 2); ok || mem.Write(0xffffffff, []byte("x")) || !mem.Write(65536, nil) {
			t.Errorf("got ok %v for a read over the end, want false and only the write of nothing taken", ok)
		}
		if n, err := in.Call(ctx, "two", 40, 2); n != 42 || err != nil {
			t.Errorf("got %v, %v; want 42, no error", n, err)
		}
		if n, err := in.Call(ctx, "grow"); n != 0 || err != nil || mem.Size() != 2*65536 {
			t.Errorf("got %v, %v, %v; want 0, no error, %v", n, err, mem.Size(), 2*65536)
		}
		if !in.HasExport("two") || in.HasExport("memory") || in.Limits().Output != runtime.DefaultOutput {
			t.Errorf("got exports two %v, memory %v, limits %+v; want true, false and an output of %d", in.HasExport("two"), in.HasExport("memory"), in.Limits(), runtime.DefaultOutput)
		}
		return nil, fmt.Errorf("wrapped: %w", guestErr)
	})
	var got *runtime.GuestError
	if err := callErr(runtime.NewPool(compile(t, hostF(t, one), m), d, nil)); !errors.As(err, &got) || got != guestErr {
		t.Error(err)
	}
}

// A host function cannot call into the guest that called it.
func TestInstance_refusesReentry(t *testing.T) {
	var in *runtime.Instance
	var inner error
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
		_, inner = in.Call(ctx, "run")
		stack[0] = 4
	})
	d := serve(func(ctx context.Context, i *runtime.Instance) (json.RawMessage, error) {
		in = i
		n, err := i.Call(ctx, "run")
		return json.RawMessage(strconv.Itoa(int(n))), err
	})
	got, err := runtime.NewPool(compile(t, e, guest(w.Call(0))), d, nil).Call(context.Background(), runtime.Request{}, nil)
	if err != nil || string(got) != "4" {
		t.Errorf("got %s, %v; want \"4\", no error", got, err)
	}
	wantEnd(t, inner, runtime.KindInternal, "")
}

// Host functions of a guest without a memory get an empty one.
func TestHostFunc_getsAnEmptyMemoryFromGuestsWithoutOne(t *testing.T) {
	e := hostF(t, func(_ context.Context, mem runtime.Memory, stack []uint64) {
		_, some := mem.Read(0, 1)
		_, none := mem.Read(0, 0)
		if mem.Size() != 0 || some || !none || mem.Write(0, []byte{1}) || !mem.Write(0, nil) {
			t.Errorf("got size %d, reads of 1 and 0 bytes %v and %v; want 0, false and true, and only the empty write", mem.Size(), some, none)
		}
		stack[0] = 6
	})
	var m w.Module
	m.Import("h", "f", nil, []byte{w.I32})
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.Call(0)))
	got, err := runtime.NewPool(compile(t, e, &m), run{}, nil).Call(context.Background(), runtime.Request{}, nil)
	if err != nil || string(got) != "6" {
		t.Errorf("got %s, %v; want \"6\", no error", got, err)
	}
}

type gate struct{ runtime.Gate }

func TestPool_Call_usesTheGateOfItsPhase(t *testing.T) {
	g := &gate{}
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
		if runtime.GateFrom(ctx) == runtime.Gate(g) {
			stack[0] = 1
		}
	})
	var m w.Module
	m.Import("h", "f", nil, []byte{w.I32})
	seen := m.Global(w.I32, 0)
	m.Export("_initialize", m.Func(nil, nil, nil, w.Call(0), w.GlobalSet(seen)))
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.Call(0), w.GlobalGet(seen), w.GlobalGet(seen), w.I32Add, w.I32Add))
	compiled := compile(t, e, &m)
	closed := 0
	mine := func() (runtime.Gate, func()) { return g, func() { closed++ } }
	for _, c := range []struct {
		name    string
		o       runtime.PoolOptions
		with    string // 1 if the call sees the gate, plus 2 if the start-up code does
		without string
	}{
		{"no gate to start", runtime.PoolOptions{}, "1", "0"},
		{"a gate to start", runtime.PoolOptions{Start: mine}, "3", "2"},
		{"within the call", runtime.PoolOptions{Start: mine, State: runtime.StateFresh}, "3", "0"},
	} {
		p := runtime.NewPool(compiled, run{}, &c.o)
		if got, err := p.Call(context.Background(), runtime.Request{}, g); string(got) != c.with {
			t.Errorf("%s: got %s, %v with a gate, want %s", c.name, got, err, c.with)
		}
		if got, err := p.Call(context.Background(), runtime.Request{}, nil); string(got) != c.without {
			t.Errorf("%s: got %s, %v without a gate, want %s", c.name, got, err, c.without)
		}
	}
	if closed != 1 {
		t.Errorf("got %d closes of the gate to start, want 1", closed)
	}
}

// TestPool_survivesConcurrentCallsAndClose calls, cancels and closes concurrently.
func TestPool_survivesConcurrentCallsAndClose(t *testing.T) {
	e := hostF(t, one)
	m := compile(t, e, guest(w.Call(0)))
	loop := compile(t, e, guest(forever))
	for range 10 {
		p := runtime.NewPool(m, run{}, &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: 3}})
		q := runtime.NewPool(loop, run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: 3 * time.Millisecond}})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i%2 == 0 {
					go cancel()
				}
				_, _ = p.Call(ctx, runtime.Request{}, nil)
				_, _ = q.Call(ctx, runtime.Request{}, nil)
			})
		}
		wg.Go(func() {
			if err := errors.Join(p.Close(context.Background()), q.Close(context.Background())); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
}

func BenchmarkPool_Call(b *testing.B) {
	p := runtime.NewPool(compile(b, hostF(b, one), guest(w.Call(0))), run{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Call(context.Background(), runtime.Request{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// starts is a dialect whose start-up code panics.
type starts struct{ run }

func (starts) Start(context.Context, *runtime.Instance) error { panic("a bug") }

// A dialect's panic while an instance starts ends the call, not the host, also while an image is built.
func TestPool_dialectPanicsAtStartEndTheCall(t *testing.T) {
	m := compile(t, hostF(t, one), guest(w.I32Const(1)))
	for _, state := range []runtime.State{runtime.StateCall, runtime.StateFresh} {
		p := runtime.NewPool(m, starts{}, &runtime.PoolOptions{State: state})
		for range 2 {
			if end := wantEnd(t, callErr(p), runtime.KindInternal, "the host failed"); !strings.Contains(end.Stack, "Start") {
				t.Errorf("%s: got stack %q, want one with Start", state, end.Stack)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The numbers of an engine are those of its modules and calls.
func TestEngine_statsCountModulesAndCalls(t *testing.T) {
	e := hostF(t, one)
	if s := e.Stats(); s != (runtime.Stats{}) {
		t.Errorf("got %+v of a new engine, want zeros", s)
	}
	p := runtime.NewPool(compile(t, e, guest(w.I32Const(7))), run{}, nil)
	if err := callErr(p); err != nil {
		t.Fatal(err)
	}
	if s := e.Stats(); s.Modules != 1 || s.Loaded == 0 || s.Compiled == 0 || s.Waiting != 0 {
		t.Errorf("got %+v, want one loaded module that was compiled, and no waiting calls", s)
	}
}
