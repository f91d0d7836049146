package runtime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// callContext is the context of one call. It ends with the caller's, when the call's own time is
// over, and when the pool stops. Its time can be stopped, which a context's deadline cannot.
type callContext struct {
	context.Context
	end  context.CancelCauseFunc
	gate Gate
	turn turn
	in   *Instance // set while a guest runs for the call
	// hostCalls is how many the guest made; it makes one at a time.
	hostCalls int

	cause error // why the call ends when its time is over

	mu     sync.Mutex
	timer  *time.Timer
	until  time.Time     // when the time is over; zero while it is stopped
	left   time.Duration // while it is stopped
	waits  int           // pauses under way
	asking time.Duration // how long pauses may still last
	since  time.Time     // when the first pause under way began
}

type callKey struct{}

// callOf returns the call that ctx belongs to, nil if it belongs to none.
func callOf(ctx context.Context) *callContext {
	c, _ := ctx.Value(callKey{}).(*callContext)
	return c
}

// newCall begins a call that has its turn. It must be closed.
func newCall(ctx context.Context, g Gate, t turn, l Limits) *callContext {
	c := &callContext{gate: g, turn: t, asking: l.Ask}
	c.begin(ctx, l.Deadline, errDeadline)
	return c
}

// newStart begins the making of an image, in which nobody can be asked.
func newStart(ctx context.Context, g Gate, l Limits) *callContext {
	c := &callContext{gate: g}
	c.begin(ctx, l.Start, errStart)
	return c
}

func (c *callContext) begin(ctx context.Context, limit time.Duration, cause error) {
	c.Context, c.end = context.WithCancelCause(ctx)
	c.cause, c.until = cause, time.Now().Add(limit)
	c.timer = time.AfterFunc(limit, func() { c.end(cause) })
}

func (c *callContext) close() {
	c.timer.Stop()
	c.end(nil)
}

// Value finds the call and its gate.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case gateKey:
		return c.gate
	}
	return c.Context.Value(key)
}

// Err is context.DeadlineExceeded also where the call's own time is over.
func (c *callContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// Deadline is when the call's time will be over, unless it is stopped before.
func (c *callContext) Deadline() (time.Time, bool) {
	until, ok := c.Context.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && (!ok || c.until.Before(until)) {
		return c.until, true
	}
	return until, ok
}
