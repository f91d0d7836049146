package runtime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// The context of an ended call is done, also if Done is first called afterwards.
func TestCallContext_isDoneAfterTheCall(t *testing.T) {
	var kept context.Context
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
		if kept, stack[0] = ctx, 1; ctx.Err() != nil {
			t.Error("done before its end")
		}
	})
	p := runtime.NewPool(compile(t, e, guest(w.Call(0))), run{}, nil)
	for range 2 {
		if _, err := p.Call(context.Background(), runtime.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		child, cancel := context.WithCancel(kept)
		select {
		case <-child.Done():
		default:
			t.Error("a context made of it is not done")
		}
		cancel()
		if !errors.Is(kept.Err(), context.Canceled) || context.Cause(kept) == nil {
			t.Errorf("got %v, %v; want %v, an error", kept.Err(), context.Cause(kept), context.Canceled)
		}
	}
}

// Closing the pool ends the wait of a host function, with the cause.
func TestCallContext_endsWithThePool(t *testing.T) {
	waits := make(chan struct{})
	causes := make(chan error, 1)
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		close(waits)
		<-child.Done()
		causes <- context.Cause(child)
		stack[0] = 1
	})
	p := runtime.NewPool(compile(t, e, guest(w.Call(0))), run{}, nil)
	errs := make(chan error, 1)
	go func() { errs <- callErr(p) }()
	<-waits
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(now); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, <-errs, runtime.KindCancelled, "the plugin was closed during the call")
	if cause := <-causes; cause == nil || errors.Is(cause, context.DeadlineExceeded) {
		t.Errorf("got the cause %v, want that of the closed pool", cause)
	}
}

// The deadline is observed with and without a timer.
func TestCallContext_endsAtTheDeadline(t *testing.T) {
	for name, before := range map[string]func(context.Context){
		"nobody waits": func(context.Context) {},
		"a timer runs": func(ctx context.Context) { ctx.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended error
				e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
					before(ctx)
					until, ok := ctx.Deadline()
					if !ok {
						t.Error("no deadline")
					}
					time.Sleep(time.Until(until) + time.Millisecond)
					ended, stack[0] = ctx.Err(), 1
				})
				p := runtime.NewPool(compile(t, e, guest(w.Call(0))), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: time.Second}})
				wantEnd(t, callErr(p), runtime.KindDeadline, "the guest did not answer in time")
				if !errors.Is(ended, context.DeadlineExceeded) {
					t.Errorf("got %v, want %v", ended, context.DeadlineExceeded)
				}
			})
		})
	}
}
