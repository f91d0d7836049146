package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// counting returns the number of calls of this instance.
var counting = serve(func(_ context.Context, in *runtime.Instance) (json.RawMessage, error) {
	n, _ := in.Memory().Read(0, 1)
	count := n[0] + 1
	in.Memory().Write(0, []byte{count})
	return json.RawMessage(strconv.Itoa(int(count))), nil
})

// counts calls the plugin for a session and compares the count.
func counts(t *testing.T, p *runtime.Pool, caller, session, want string) {
	t.Helper()
	got, err := p.Call(context.Background(), runtime.Request{Session: session, Caller: caller}, nil)
	if s := string(got); err != nil || s != want {
		t.Errorf("%s of %s: %s, %v, want %s", session, caller, s, err, want)
	}
}

const oneKept = 64<<10 + 256<<10 // a page and the engine's overhead

// Kept instances share one budget over all plugins. The owner with the most bytes loses its least recently used
// instance, and is told so.
func TestPool_Call_keptInstancesShareOneBudget(t *testing.T) {
	e := newEngine(t, &runtime.EngineOptions{Kept: 4 * oneKept})
	m := compile(t, e, guestAlone())
	pools := make([]*runtime.Pool, 2)
	for i := range pools {
		pools[i] = runtime.NewPool(m, counting, &runtime.PoolOptions{State: runtime.StateSession})
	}
	counts(t, pools[0], "ada", "ada's", "1")
	for i := range 6 {
		counts(t, pools[i%2], "eve", fmt.Sprint("eve's ", i), "1")
	}
	counts(t, pools[0], "ada", "ada's", "2")
	for i := range 3 {
		_, err := pools[i%2].Call(t.Context(), runtime.Request{Session: fmt.Sprint("eve's ", i), Caller: "eve"}, nil)
		wantEnd(t, err, runtime.KindUnavailable, "the plugin's state for this session is lost, since kept instances need more than 1280 KiB together (limits.kept): the next call begins without it")
	}
	for i := 3; i < 6; i++ {
		counts(t, pools[i%2], "eve", fmt.Sprint("eve's ", i), "2")
	}
	counts(t, pools[0], "eve", "eve's 0", "1")
	if err := pools[0].Close(t.Context()); err != nil {
		t.Error(err)
	}
	counts(t, pools[1], "eve", "eve's 5", "3")
}

// The budget includes the references of a module, which each instance copies beside its memory.
func TestPool_Call_keptBudgetIncludesReferences(t *testing.T) {
	const references = 50_000
	m := guestAlone()
	m.ElementsRaw(append(w.Code([]byte{1, 0}, w.U32(references)), make([]byte, references)...)...)
	e := newEngine(t, &runtime.EngineOptions{Kept: 2 * (oneKept + references*56)})
	p := runtime.NewPool(compile(t, e, m), counting, &runtime.PoolOptions{State: runtime.StateSession})
	for i := range 3 {
		counts(t, p, "eve", fmt.Sprint("session ", i), "1")
	}
	_, err := p.Call(t.Context(), runtime.Request{Session: "session 0", Caller: "eve"}, nil)
	wantEnd(t, err, runtime.KindUnavailable, "the plugin's state for this session is lost, since kept instances need more than 6255360 bytes together (limits.kept): the next call begins without it")
	for i := 1; i < 3; i++ {
		counts(t, p, "eve", fmt.Sprint("session ", i), "2")
	}
}

// An instance for all callers counts for no caller, and is evicted neither for a caller's sessions nor when idle.
func TestPool_Call_instanceForAllIsNotEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := compile(t, newEngine(t, &runtime.EngineOptions{Kept: 2 * oneKept}), guestAlone())
		all := runtime.NewPool(m, counting, &runtime.PoolOptions{State: runtime.StatePlugin})
		each := runtime.NewPool(m, counting, &runtime.PoolOptions{State: runtime.StateSession})
		defer all.Close(t.Context())
		defer each.Close(t.Context())
		counts(t, all, "ada", "x", "1")
		for i := range 5 {
			counts(t, each, "eve", fmt.Sprint(i), "1")
		}
		counts(t, all, "eve", "y", "2")
		time.Sleep(3 * time.Hour)
		counts(t, all, "eve", "y", "3")
		_, err := each.Call(t.Context(), runtime.Request{Session: "4", Caller: "eve"}, nil)
		wantEnd(t, err, runtime.KindUnavailable, "lost, since it was idle for an hour")
		counts(t, each, "eve", "4", "1")
	})
}

// A hundred concurrent calls of a plugin with kept state all return, one after the other.
func TestPool_Call_keptInstanceServesAHundredCalls(t *testing.T) {
	m := compile(t, newEngine(t, nil), guestAlone())
	for _, state := range []runtime.State{runtime.StateSession, runtime.StatePlugin} {
		p := runtime.NewPool(m, counting, &runtime.PoolOptions{State: state})
		var answers sync.Map
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				got, err := p.Call(context.Background(), runtime.Request{Session: "s", Caller: "a"}, nil)
				if _, twice := answers.LoadOrStore(string(got), true); err != nil || twice {
					t.Errorf("%s: %s, %v", state, got, err)
				}
			})
		}
		wg.Wait()
		counts(t, p, "a", "s", "101")
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A call cancelled before its turn leaves the kept instance unchanged.
func TestPool_Call_cancelledBeforeItsTurnChangesNothing(t *testing.T) {
	p := runtime.NewPool(compile(t, newEngine(t, nil), guestAlone()), counting, &runtime.PoolOptions{State: runtime.StateSession})
	counts(t, p, "a", "s", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Call(ctx, runtime.Request{Session: "s", Caller: "a"}, nil)
	wantEnd(t, err, runtime.KindCancelled, "the call was cancelled")
	counts(t, p, "a", "s", "2")
}

// Eighty tasks of one caller do not delay a plain call of another.
func TestPool_Call_tasksDoNotDelayPlainCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) { time.Sleep(2 * time.Second) })
		p := runtime.NewPool(compile(t, e, guest(callHost)), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: 4, Deadline: 10 * time.Second}})
		began := time.Now()
		var tasks sync.WaitGroup
		for range 80 {
			tasks.Go(func() {
				if _, err := p.Call(context.Background(), runtime.Request{Caller: "a", Method: "tools/call", Patient: true}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if _, err := p.Call(t.Context(), runtime.Request{Caller: "b", Method: "tools/call"}, nil); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		tasks.Wait()
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("eighty tasks of 2 s, four at a time, took %v", took)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// guestAlone returns a module with a memory of one page and no imports.
func guestAlone() *w.Module {
	var m w.Module
	m.Memory(1, w.None)
	m.Export("run", m.Func(nil, []byte{w.I32}, nil, w.I32Const(0)))
	return &m
}
