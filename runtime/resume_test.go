package runtime_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// goProgram is a program with the functions of Go's runtime by which it can be resumed. Its only goroutine adds 1 to
// the byte at 64 and polls, for ever; with clock it reads the clock instead. A test changes one part.
type goProgram struct {
	start, loop, wait, clock [][]byte
	imported                 string
	callers                  int
	running                  int64 // the address of the running goroutine
	stack                    int64 // the end of its stack; 0 for the stack that it started on
}

// newClockedProgram returns a goProgram that reads the clock.
func newClockedProgram() *goProgram {
	p := newGoProgram()
	p.start[4], p.start[6] = w.Call(3), w.Call(4)
	p.clock = slices.Concat(p.wait[:2], [][]byte{w.LocalGet(1), w.I32Load(8), w.LocalGet(1), {0x29, 3, 16}, w.LocalGet(1), w.I32Load(24), w.Call(1)}, p.wait[11:])
	return p
}

func newGoProgram() *goProgram {
	const sp, pause = 0, 1
	i32 := struct{ sub, add, eqz, wrap, extend, load16, load, tee, store32 []byte }{
		[]byte{0x6b}, []byte{0x6a}, []byte{0x45}, []byte{0xa7}, []byte{0xad}, []byte{0x2f, 1, 0}, []byte{0x28, 2, 2}, []byte{0x22, 1}, []byte{0x3e, 2, 40},
	}
	below := w.Code(w.GlobalGet(sp), w.I32Const(8), i32.sub)
	return &goProgram{
		imported: "poll_oneoff", callers: 1,
		start: [][]byte{w.I64Const(1024), i32.wrap, w.GlobalSet(sp), w.I32Const(0), w.Call(2), w.Drop, w.Call(3), {0x0f}, w.Unreachable},
		loop: [][]byte{w.GlobalGet(pause), i32.eqz, {0x04, 0x40, 0x03, 0x40}, below, i32.load16, below, i32.load, {0x11, 1, 0}, w.Drop,
			w.GlobalGet(pause), i32.eqz, w.BrIf(0), w.End, w.End, w.I32Const(0), w.GlobalSet(pause), {0x0f}, w.Unreachable},
		wait: [][]byte{w.GlobalGet(sp), w.LocalSet(1),
			w.LocalGet(1), w.I32Load(8), w.LocalGet(1), w.I32Load(16), w.LocalGet(1), w.I32Load(24), w.LocalGet(1), w.I32Load(32), w.Call(0),
			w.GlobalGet(sp), w.LocalSet(1), i32.extend, w.LocalSet(2), w.LocalGet(1), w.LocalGet(2), i32.store32,
			w.LocalGet(1), w.I32Const(8), i32.add, i32.tee, w.GlobalSet(sp), w.I32Const(0), {0x0f}, w.Unreachable},
	}
}

func (p *goProgram) module() *w.Module {
	var m w.Module
	m.Import("wasi_snapshot_preview1", p.imported, []byte{w.I32, w.I32, w.I32, w.I32}, []byte{w.I32})
	i32, waits := []byte{w.I32}, uint32(1)
	if p.clock != nil {
		m.Import("wasi_snapshot_preview1", "clock_time_get", []byte{w.I32, w.I64, w.I32}, i32)
		waits = 6
		p.loop[7][1] = 2 // the type of the call_indirect
	}
	m.Type(i32, i32) // 1, of the call_indirect
	m.Memory(1, w.None)
	m.Table(1, w.None)
	m.Global(w.I32, 0)
	m.Global(w.I32, 0)
	m.Global(w.I32, p.running)
	m.Func(i32, i32, []byte{w.I32, w.I64}, p.wait...) // 1
	m.Func(i32, i32, nil, w.I32Const(0))              // 2: starts the scheduler
	m.Func(nil, nil, nil, p.loop...)                  // 3
	onStack := [][]byte{}
	if p.stack != 0 {
		onStack = [][]byte{w.I32Const(int32(p.stack)), w.GlobalSet(0)}
	}
	goroutine := m.Func(i32, i32, nil, w.Code(onStack...), w.I32Const(64), w.I32Const(64), w.I32Load(0), w.I32Const(1), []byte{0x6a}, w.I32Store(0),
		w.GlobalGet(0), w.I32Const(8), []byte{0x6b}, w.GlobalSet(0),
		w.GlobalGet(0), w.I64Const(0), w.I64Store(0), w.I32Const(0), w.Call(waits))
	if p.clock != nil {
		m.Func(i32, i32, []byte{w.I32, w.I64}, p.clock...)
	}
	m.Elements(0, goroutine)
	m.Export("_start", m.Func(nil, nil, nil, p.start...))
	for range p.callers - 1 {
		m.Func(nil, nil, nil, w.I32Const(0), w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Call(0), w.Drop)
	}
	return &m
}

// polled returns an engine whose poll_oneoff calls f.
func polled(t *testing.T, f func()) *runtime.Engine {
	host := func(name string) runtime.HostFunc {
		return runtime.HostFunc{Module: "wasi_snapshot_preview1", Name: name, Params: []byte{w.I32, w.I32, w.I32, w.I32}, Results: []byte{w.I32},
			Call: func(_ context.Context, _ runtime.Memory, stack []uint64) { f(); stack[0] = 0 }}
	}
	clock := host("clock_time_get")
	clock.Params = []byte{w.I32, w.I64, w.I32}
	return newEngine(t, &runtime.EngineOptions{Host: []runtime.HostFunc{host("poll_oneoff"), host("fd_read"), clock}})
}

func TestModule_Resumable_knowsGoByItsFunctions(t *testing.T) {
	e := polled(t, func() {})
	for name, change := range map[string]func(p *goProgram){
		"":                       func(*goProgram) {},
		"another import":         func(p *goProgram) { p.imported = "fd_read" },
		"two callers":            func(p *goProgram) { p.callers = 2 },
		"start: one more":        func(p *goProgram) { p.start = append(p.start, []byte{0x01}) },
		"start: one less":        func(p *goProgram) { p.start = p.start[:8] },
		"loop: another pointer":  func(p *goProgram) { p.loop[5] = w.Code(w.GlobalGet(2), w.I32Const(8), []byte{0x6b}) },
		"loop: another flag":     func(p *goProgram) { p.loop[9] = w.GlobalGet(2) },
		"wait: a larger address": func(p *goProgram) { p.wait[19] = w.I32Const(16) },
		"wait: another pointer":  func(p *goProgram) { p.wait[22] = w.GlobalSet(2) },
		"wait: no result":        func(p *goProgram) { p.wait[17] = w.Code(w.Drop, w.Drop) },
		"wait: a call before":    func(p *goProgram) { p.wait[0] = w.Code(w.I32Const(0), w.Call(2), w.Drop, p.wait[0]) },
	} {
		p := newGoProgram()
		change(p)
		m := compile(t, e, p.module())
		if got := m.Resumable(); got != (name == "") {
			t.Errorf("%s: got %v, want %v", name, got, name == "")
		}
	}
}

func TestModule_Clocked_knowsGoByItsFunctions(t *testing.T) {
	e := polled(t, func() {})
	for name, change := range map[string]func(p *goProgram){
		"":                        func(*goProgram) {},
		"no clock":                func(p *goProgram) { *p = *newGoProgram() },
		"no poll":                 func(p *goProgram) { p.callers = 2 },
		"clock: a larger address": func(p *goProgram) { p.clock[17] = w.I32Const(16) },
		"clock: another pointer":  func(p *goProgram) { p.clock[20] = w.GlobalSet(2) },
		"clock: no precision":     func(p *goProgram) { p.clock[5] = w.I64Const(0); p.clock[4] = []byte{0x01} },
	} {
		p := newClockedProgram()
		change(p)
		stack, got := compile(t, e, p.module()).Clocked()
		if got != (name == "") || got && stack != 1024+16 {
			t.Errorf("%s: got %v, a stack up to %d, want %v, 1040", name, got, stack, name == "")
		}
	}
}

// A suspended guest continues where it was: in the next call of its session, or, from the image, in every call.
func TestInstance_Resume_continuesInTheImport(t *testing.T) {
	continues(t, newGoProgram(), (*runtime.Instance).Resume)
	continues(t, newClockedProgram(), (*runtime.Instance).ResumeClock)
}

func continues(t *testing.T, p *goProgram, resume func(*runtime.Instance, context.Context) error) {
	polls := 0
	e := polled(t, func() {
		if polls--; polls < 0 {
			runtime.Suspend()
		}
	})
	m := compile(t, e, p.module())
	runTo := func(n int, run func() error) error {
		polls = n
		if err := run(); !errors.Is(err, runtime.ErrSuspended) {
			return fmt.Errorf("got %v, want a suspended guest", err)
		}
		return nil
	}
	for state, want := range map[runtime.State]string{
		runtime.StateCall:    "[3 3 3]",
		runtime.StateFresh:   "[3 3 3]",
		runtime.StateSession: "[3 5 7]", // the first call starts it
	} {
		d := serve(func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			err := error(nil)
			if in.Noted() == nil {
				err = runTo(0, func() error { _, err := in.Call(ctx, "_start"); return err })
			}
			in.Note("started")
			if err == nil {
				err = runTo(2, func() error { return resume(in, ctx) })
			}
			count, _ := in.Memory().Read(64, 1)
			return json.RawMessage(fmt.Sprint(count[0])), err
		})
		pool := runtime.NewPool(m, d, &runtime.PoolOptions{State: state})
		var got []json.RawMessage
		for range 3 {
			answer, err := pool.Call(context.Background(), runtime.Request{Session: "s"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, answer)
		}
		if text := fmt.Sprintf("%s", got); text != want {
			t.Errorf("%s: got %s, want %s", state, text, want)
		}
	}
}

// A module that cannot be resumed is told so, and a guest that failed too.
func TestInstance_Resume_refusesWhatCannotContinue(t *testing.T) {
	e := polled(t, runtime.Suspend)
	other := newGoProgram()
	other.callers = 2
	d := serve(func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
		if _, err := in.Call(ctx, "_start"); !errors.Is(err, runtime.ErrSuspended) {
			t.Errorf("got %v, want a suspended guest", err)
		}
		return nil, in.Resume(ctx)
	})
	wantEnd(t, callErr(runtime.NewPool(compile(t, e, other.module()), d, nil)), runtime.KindInternal, "the host failed")
}

// The unused part of a stack is known if the goroutine's bounds can be those of a stack with its pointer. Otherwise that
// memory may be in use.
func TestInstance_Unused_isWithinTheBoundsOfTheStack(t *testing.T) {
	const running, pointer, end = 128, 1016, 64 << 10
	clocked := func(at int64) *goProgram {
		p := newClockedProgram()
		p.running = at
		return p
	}
	for name, c := range map[string]struct {
		program   *goProgram
		low, high uint64
		from      uint32
		ok        bool
	}{
		"":                     {clocked(running), 512, 1024, 512, true},
		"full":                 {clocked(running), 1016, 1032, 1016, true},
		"empty":                {clocked(running), 1000, 1016, 1000, true},
		"no bounds":            {clocked(running), 0, 0, 0, false},
		"a size of no stack":   {clocked(running), 512, 1023, 0, false},
		"turned round":         {clocked(running), 1024, 512, 0, false},
		"below the pointer":    {clocked(running), 488, 1000, 0, false},
		"above the pointer":    {clocked(running), 1024, 2048, 0, false},
		"bounds of 64 bits":    {clocked(running), 1 << 40, 1 << 41, 0, false},
		"goroutine at the end": {clocked(end - 16), 512, 1024, 512, true},
		"goroutine beyond it":  {clocked(end - 15), 512, 1024, 0, false},
		"not clocked":          {newGoProgram(), 512, 1024, 0, false},
	} {
		d := serve(func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			if _, err := in.Call(ctx, "_start"); !errors.Is(err, runtime.ErrSuspended) {
				t.Errorf("%s: got %v, want a suspended guest", name, err)
			}
			bounds := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.low), c.high)
			at := min(c.program.running, end-16)
			in.Memory().Write(uint32(at), bounds)
			from, to, ok := in.Unused()
			if from != c.from || ok != c.ok || ok && to != pointer {
				t.Errorf("%s: got %d to %d, %v, want %d to %d, %v", name, from, to, ok, c.from, pointer, c.ok)
			}
			return json.RawMessage("1"), nil
		})
		if _, err := runtime.NewPool(compile(t, polled(t, runtime.Suspend), c.program.module()), d, nil).Call(t.Context(), runtime.Request{}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The image of a start may end at a reading of a clock by a goroutine: the start of Go's runtime has not gone on from another
// stack.
func TestInstance_OnGoroutine_isNotOnTheStackOfTheStart(t *testing.T) {
	const running = 128
	for name, c := range map[string]struct {
		stack     int64
		low, high uint64
		clocked   bool
		want      bool
	}{
		"a goroutine":            {32768 + 1024, 32768, 32768 + 1024, true, true},
		"the start":              {0, 512, 1024, true, false},
		"the end of its stack":   {1040 + 8, 512, 512 + 1024, true, false},
		"behind it":              {1040 + 16, 512, 512 + 1024, true, true},
		"bounds of another one":  {32768 + 1024, 16384, 32768, true, false},
		"a guest without clocks": {32768 + 1024, 32768, 32768 + 1024, false, false},
	} {
		p := newGoProgram()
		if c.clocked {
			p = newClockedProgram()
		}
		p.stack, p.running = c.stack, running
		d := serve(func(ctx context.Context, in *runtime.Instance) (json.RawMessage, error) {
			if _, err := in.Call(ctx, "_start"); !errors.Is(err, runtime.ErrSuspended) {
				t.Errorf("%s: got %v, want a suspended guest", name, err)
			}
			in.Memory().Write(running, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.low), c.high))
			if got := in.OnGoroutine(); got != c.want {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
			return json.RawMessage("1"), nil
		})
		if _, err := runtime.NewPool(compile(t, polled(t, runtime.Suspend), p.module()), d, nil).Call(t.Context(), runtime.Request{}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The state of a kept instance that a call discards is lost, which the next call is told once.
func TestInstance_Discard_isToldToTheNextCall(t *testing.T) {
	discards := true
	d := serve(func(_ context.Context, in *runtime.Instance) (json.RawMessage, error) {
		if !in.Kept() {
			t.Error("got an instance that is not kept")
		}
		if discards {
			in.Discard()
		}
		discards = false
		return json.RawMessage("1"), nil
	})
	pool := runtime.NewPool(compile(t, hostF(t, one), guest(w.I32Const(0))), d, &runtime.PoolOptions{State: runtime.StatePlugin})
	for i, want := range []string{"", "the plugin's state for this session is lost, since it ended after its last answer: the next call begins without it", ""} {
		if err := callErr(pool); want == "" && err != nil {
			t.Errorf("call %d: got %v, want no error", i, err)
		} else if want != "" {
			wantEnd(t, err, runtime.KindUnavailable, want)
		}
	}
}

// greeting is a dialect whose handshake fails.
type greeting struct{ run }

func (greeting) WarmUp() runtime.Request { return runtime.Request{Method: "greet"} }
func (greeting) GreetFuel() uint64       { return 1_000_000 }

func (g greeting) Serve(ctx context.Context, in *runtime.Instance, r runtime.Request) (json.RawMessage, error) {
	if r.Method == "greet" {
		return nil, runtime.AskErrorf(runtime.KindDenied, "not yet")
	}
	return g.run.Serve(ctx, in, r)
}

// halfway is a dialect whose handshake fails, and whose second warm-up has an outcome. Calls return what they found.
type halfway struct {
	run
	warmed *int
	fails  bool
}

func (h halfway) WarmUp() runtime.Request {
	*h.warmed++
	return runtime.Request{Method: fmt.Sprint("warm ", *h.warmed)}
}
func (halfway) GreetFuel() uint64 { return 1_000_000 }

func (h halfway) Serve(ctx context.Context, in *runtime.Instance, r runtime.Request) (json.RawMessage, error) {
	switch {
	case r.Method == "warm 1":
		in.Note("of the first one")
		return nil, fmt.Errorf("%w: not wholly", runtime.ErrAgain)
	case r.Method == "warm 2" && h.fails:
		return nil, errors.New("not at all")
	case r.Method == "warm 2":
		in.Note("begun")
		return json.RawMessage("null"), nil
	}
	return json.Marshal(in.Noted())
}

// A handshake that fails may be followed by a shorter warm-up, whose image all calls have. If that fails too, they have
// none of either.
func TestPool_warmUp_isRepeatedOnce(t *testing.T) {
	for fails, want := range map[bool]string{false: `"begun"`, true: "null"} {
		warmed, reasons := 0, []string{}
		pool := runtime.NewPool(compile(t, hostF(t, one), guest(w.I32Const(7))), halfway{warmed: &warmed, fails: fails},
			&runtime.PoolOptions{Cold: func(err error) { reasons = append(reasons, err.Error()) }})
		for range 2 {
			if got := answerOf(t, pool, runtime.Request{}); got != want {
				t.Errorf("%v: got %s, want %s", fails, got, want)
			}
		}
		if warmed != 2 || len(reasons) > 0 != fails {
			t.Errorf("%v: got %d warm-ups and the reasons %q, want 2, and the reason of the second one if it fails", fails, warmed, reasons)
		}
	}
}

// Calls begin without a handshake that failed, once, and the reason is passed on.
func TestPool_warmUp_failedHandshakeIsTold(t *testing.T) {
	var reasons []string
	pool := runtime.NewPool(compile(t, hostF(t, one), guest(w.I32Const(7))), greeting{}, &runtime.PoolOptions{Cold: func(err error) { reasons = append(reasons, err.Error()) }})
	for range 2 {
		if got := answerOf(t, pool, runtime.Request{}); got != "7" {
			t.Errorf("got %s, want 7", got)
		}
	}
	if len(reasons) != 1 || !strings.Contains(reasons[0], "not yet") {
		t.Errorf("got reasons %q, want not yet, once", reasons)
	}
}
