package runtime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// waiter is a host function that pauses its call until it is released, and returns 1, or 2 if the pause exceeded its
// limit, or 3 if the call ended meanwhile.
type waiter struct {
	began  chan struct{}
	answer chan struct{}
}

func newWaiter() *waiter { return &waiter{make(chan struct{}, 100), make(chan struct{})} }

func (w *waiter) call(ctx context.Context, _ runtime.Memory, stack []uint64) {
	wait, resume := runtime.Pause(ctx)
	defer resume()
	w.began <- struct{}{}
	select {
	case <-w.answer:
		stack[0] = 1
	case <-wait.Done():
		stack[0] = 3
		if errors.Is(context.Cause(wait), runtime.ErrUnanswered) {
			stack[0] = 2
		}
	}
}

// paused runs f in a synctest bubble, with a pool whose guest calls the waiter.
func paused(t *testing.T, l runtime.Limits, f func(t *testing.T, w *waiter, p *runtime.Pool)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		p := runtime.NewPool(compile(t, hostF(t, w.call), guest(callHost)), run{}, &runtime.PoolOptions{Limits: l})
		f(t, w, p)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// callHost calls the host function.
var callHost = []byte{0x10, 0}

type result struct {
	text string
	err  error
}

func begin(ctx context.Context, p *runtime.Pool) <-chan result {
	done := make(chan result, 1)
	go func() {
		got, err := p.Call(ctx, runtime.Request{}, nil)
		done <- result{string(got), err}
	}()
	return done
}

// A paused call's deadline is suspended, and other calls get its turn.
func TestPause_suspendsTheDeadlineAndReturnsTheTurn(t *testing.T) {
	paused(t, runtime.Limits{Deadline: time.Second, Concurrency: 1}, func(t *testing.T, w *waiter, p *runtime.Pool) {
		first := begin(t.Context(), p)
		<-w.began
		second := begin(t.Context(), p)
		<-w.began // there is one turn, and it was released
		time.Sleep(time.Minute)
		for range 2 {
			w.answer <- struct{}{}
		}
		for _, done := range []<-chan result{first, second} {
			if r := <-done; r.err != nil || r.text != "1" {
				t.Errorf("got %+v, want 1, no error", r)
			}
		}
	})
}

// The remaining time is the same after the pause as before it.
func TestPause_leavesTheRemainingTimeUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, after time.Duration
		e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
			time.Sleep(300 * time.Millisecond)
			_, resume := runtime.Pause(ctx)
			if until, ok := ctx.Deadline(); ok {
				t.Errorf("got deadline %v during the pause, want none", until)
			}
			time.Sleep(time.Minute)
			resume()
			resume()
			until, _ := ctx.Deadline()
			before = time.Until(until)
			time.Sleep(600 * time.Millisecond)
			<-ctx.Done()
			after = time.Until(until)
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", ctx.Err(), context.DeadlineExceeded)
			}
		})
		p := runtime.NewPool(compile(t, e, guest(callHost)), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Deadline: time.Second}})
		wantEnd(t, callErr(p), runtime.KindDeadline, "the guest did not answer in time")
		if before != 700*time.Millisecond || after != 0 {
			t.Errorf("got %v before, %v after; want 700ms, 0", before, after)
		}
	})
}

// Limits.Ask covers all pauses of a call together, and the guest continues afterwards.
func TestPause_limitsAllPausesOfACallTogether(t *testing.T) {
	paused(t, runtime.Limits{Deadline: time.Second, Ask: time.Minute}, func(t *testing.T, w *waiter, p *runtime.Pool) {
		began := time.Now()
		if r := <-begin(t.Context(), p); r.err != nil || r.text != "2" || time.Since(began) != time.Minute {
			t.Errorf("got %+v after %v, want 2 after 1m", r, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
			for range 3 {
				began := time.Now()
				wait, resume := runtime.Pause(ctx)
				inner, innerResume := runtime.Pause(ctx) // concurrent pauses count once
				select {
				case <-inner.Done():
				case <-time.After(40 * time.Second):
				}
				innerResume()
				resume()
				if wait.Err() == nil {
					t.Error("got a wait without an end, want it ended")
				}
				waited = append(waited, time.Since(began))
			}
		})
		p := runtime.NewPool(compile(t, e, guest(callHost)), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Ask: time.Minute}})
		if err := callErr(p); err != nil {
			t.Error(err)
		}
		if len(waited) != 3 || waited[0] != 40*time.Second || waited[1] != 20*time.Second || waited[2] != 0 {
			t.Errorf("got waits of %v, want 40s, 20s, 0s", waited)
		}
	})
}

// Cancellation by the caller and closing the pool end the pause.
func TestPause_endsWithItsCallAndPool(t *testing.T) {
	paused(t, runtime.Limits{}, func(t *testing.T, w *waiter, p *runtime.Pool) {
		ctx, cancel := context.WithCancel(t.Context())
		done := begin(ctx, p)
		<-w.began
		cancel()
		wantEnd(t, (<-done).err, runtime.KindCancelled, "the call was cancelled")
		done = begin(t.Context(), p)
		<-w.began
		now, stop := context.WithCancel(t.Context())
		stop()
		if err := p.Close(now); err != nil {
			t.Error(err)
		}
		wantEnd(t, (<-done).err, runtime.KindCancelled, "the plugin was closed during the call")
	})
}

// Pauses without a turn are bounded; further calls keep their turns.
func TestPause_boundsPausesWithoutATurn(t *testing.T) {
	paused(t, runtime.Limits{Concurrency: 2, Queue: -1}, func(t *testing.T, w *waiter, p *runtime.Pool) {
		var all []<-chan result
		for range 34 {
			all = append(all, begin(t.Context(), p))
			<-w.began
		}
		wantEnd(t, callErr(p), runtime.KindLimit, "too many calls")
		close(w.answer)
		for _, done := range all {
			if r := <-done; r.err != nil || r.text != "1" {
				t.Errorf("got %+v, want 1, no error", r)
			}
		}
	})
}

// Pause has no effect outside a call.
func TestPause_hasNoEffectOutsideACall(t *testing.T) {
	wait, resume := runtime.Pause(t.Context())
	resume()
	if wait != t.Context() {
		t.Errorf("got context %v, want the call's own", wait)
	}
}

// A nested call gets a turn at once or fails.
func TestPool_Call_nestedCallNeverWaits(t *testing.T) {
	var inner error
	var p *runtime.Pool
	e := hostF(t, func(ctx context.Context, _ runtime.Memory, stack []uint64) {
		if inner == nil {
			_, inner = p.Call(ctx, runtime.Request{}, nil)
		}
	})
	p = runtime.NewPool(compile(t, e, guest(callHost)), run{}, &runtime.PoolOptions{Limits: runtime.Limits{Concurrency: 1}})
	if err := callErr(p); err != nil {
		t.Error(err)
	}
	wantEnd(t, inner, runtime.KindLimit, "a call within a call does not wait: 1 run already")
}
