package runtime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// callContext is the context of one call. It ends with the caller's context, at the call's own deadline, or when the
// pool stops. Unlike a context deadline, its clock can be paused.
//
// A running guest polls the clock. The timer and the waiter are created only for a host function that waits, since
// most calls have none.
type callContext struct {
	parent context.Context
	noted  time.Time // the beginning, or later when isLong was true
	gate   Gate
	turn   turn
	in     *Instance // set while a guest runs for the call
	// attached is the value set by Instance.Attach.
	attached any
	// hostCalls is the weight of the host calls since the deadline was last checked. A guest makes one at a time.
	hostCalls int

	terms *terms   // nil if start is set
	cause overtime // the deadline error of the call, unless start is set
	start bool     // the call builds an image

	mu     sync.Mutex
	waiter waiter
	until  time.Time // the deadline; zero while the clock is paused
	closed bool

	pauses pauses // its lock is acquired before mu
}

// waiter is a context that ends with a call. The zero waiter is that of a call that nothing has waited for.
type waiter struct {
	ctx    context.Context // nil until begin
	cancel context.CancelCauseFunc
	unstop func() bool // ends the notification that the pool has stopped; may be nil
	timer  *time.Timer // of the deadline; may be nil
}

func (w *waiter) begin(parent context.Context) {
	w.ctx, w.cancel = context.WithCancelCause(parent)
}

// end ends the context with a cause, unless it has ended.
func (w *waiter) end(cause error) {
	w.cancel(cause)
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.unstop != nil {
		w.unstop()
	}
}

type callKey struct{}

// callOf returns the call that ctx belongs to, nil if it belongs to none.
func callOf(ctx context.Context) *callContext {
	if c, ok := ctx.(*callContext); ok { // the common case for host calls
		return c
	}
	c, _ := ctx.Value(callKey{}).(*callContext)
	return c
}

type attachedKey struct{}

// WithAttached returns a context that carries an attached value, as Instance.Attach sets it for a call.
func WithAttached(ctx context.Context, v any) context.Context {
	return context.WithValue(ctx, attachedKey{}, v)
}

// Attached returns the value that a dialect attached to the instance serving the call of ctx, or nil.
func Attached(ctx context.Context) any {
	if c, ok := ctx.(*callContext); ok {
		return c.attached
	}
	return ctx.Value(attachedKey{})
}

// newCall begins a call that holds its turn. The caller must close it.
func newCall(ctx context.Context, g Gate, t turn, on *terms, patient bool) *callContext {
	cause, now := on.overtime(patient), time.Now()
	return &callContext{parent: ctx, noted: now, gate: g, turn: t, pauses: pauses{left: on.Ask},
		terms: on, cause: cause, until: now.Add(cause.limit)}
}

// newStart begins the start of a module for an image, during which no person can be prompted.
func newStart(ctx context.Context, g Gate, l Limits) *callContext {
	now := time.Now()
	return &callContext{parent: ctx, noted: now, gate: g, start: true, until: now.Add(l.Start)}
}

func (c *callContext) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.waiter.ctx != nil {
		c.endLocked(nil)
	}
}

// state returns a context that has ended if and only if the call has. The caller holds mu.
func (c *callContext) state() context.Context {
	if c.waiter.ctx == nil && c.closed {
		c.endLocked(nil)
	}
	if c.waiter.ctx == nil {
		return c.parent
	}
	return c.waiter.ctx
}

// end ends the call with a cause. Later causes are ignored.
func (c *callContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(cause)
}

func (c *callContext) endLocked(cause error) {
	if c.waiter.ctx == nil {
		c.waiter.begin(c.parent)
	}
	c.waiter.end(cause)
}

// Done is closed when the call ends.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state(); c.waiter.ctx == nil {
		c.waiter.begin(c.parent)
		if stop := c.turn.stop(); stop != nil {
			c.waiter.unstop = context.AfterFunc(stop, func() { c.end(errDrained) })
		}
		if !c.until.IsZero() {
			c.arm(time.Until(c.until))
		}
	}
	return c.waiter.ctx.Done()
}

// arm schedules the end of the waiter after left. The caller holds mu.
func (c *callContext) arm(left time.Duration) {
	switch {
	case c.waiter.ctx == nil:
	case c.waiter.timer == nil:
		c.waiter.timer = time.AfterFunc(left, func() { c.end(c.overtime()) })
	default:
		c.waiter.timer.Reset(left)
	}
}

// Value returns the call, its gate, the value attached to its instance, or a value of the parent.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case gateKey:
		return c.gate
	case attachedKey:
		return c.attached
	}
	c.mu.Lock()
	of := c.state()
	c.mu.Unlock()
	return of.Value(key)
}

// Err returns context.DeadlineExceeded also when the call's own deadline has passed. It reads the clock itself, since
// timers fire late while guests occupy all processors.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state().Err() == nil {
		c.look()
	}
	of := c.state()
	err := of.Err()
	if err != nil && errors.Is(context.Cause(of), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// look ends the call if the pool has stopped or the deadline has passed. The caller holds mu.
func (c *callContext) look() {
	stop := c.turn.stop()
	switch {
	case stop != nil && stop.Err() != nil:
		c.endLocked(errDrained)
	case !c.until.IsZero() && !time.Now().Before(c.until):
		c.endLocked(c.overtime())
	}
}

// overtime returns the cause of a missed deadline.
func (c *callContext) overtime() error {
	if c.start {
		return errStart
	}
	cause := c.cause
	return &cause
}

// Deadline returns the call's deadline, unless its clock is paused, or that of the parent if it is earlier.
func (c *callContext) Deadline() (time.Time, bool) {
	until, ok := c.parent.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && (!ok || c.until.Before(until)) {
		return c.until, true
	}
	return until, ok
}
