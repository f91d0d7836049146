package runtime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// callContext is the context of one call. It ends with the caller's, when the call's own time is
// over, and when the pool stops. Its time can be stopped, which a context's deadline cannot.
//
// A guest that runs looks at the clock now and then. A timer, and whatever else it takes to be woken, is only made for
// a host function that waits: most calls have none.
type callContext struct {
	parent context.Context
	stop   context.Context // the pool's; nil if that is the parent
	gate   Gate
	turn   turn
	in     *Instance // set while a guest runs for the call
	// attached is the dialect's.
	attached any
	// hostCalls is what those weigh that the guest made since somebody looked at the clock; it makes one at a time.
	hostCalls int

	cause overtime // why the call ends when its time is over, unless start is set
	start bool     // it makes an image

	mu     sync.Mutex
	waiter context.Context // done when the call ends; nil before somebody waits or the call ended
	cancel context.CancelCauseFunc
	unstop func() bool // of the waiter
	timer  *time.Timer // of the waiter
	until  time.Time   // when the time is over; zero while it is stopped
	closed bool

	pausing sync.Mutex    // taken before mu
	left    time.Duration // while the time is stopped
	waits   int           // pauses under way
	asking  time.Duration // how long pauses may still last
	since   time.Time     // when the first pause under way began
}

type callKey struct{}

// callOf returns the call that ctx belongs to, nil if it belongs to none.
func callOf(ctx context.Context) *callContext {
	if c, ok := ctx.(*callContext); ok { // as in nearly all of the calls that a guest makes
		return c
	}
	c, _ := ctx.Value(callKey{}).(*callContext)
	return c
}

type attachedKey struct{}

// WithAttached returns a context in which a value is attached, as Instance.Attach does for a call.
func WithAttached(ctx context.Context, v any) context.Context {
	return context.WithValue(ctx, attachedKey{}, v)
}

// Attached returns what a dialect attached to the instance that serves the call of ctx, nil if there is none.
func Attached(ctx context.Context) any {
	if c, ok := ctx.(*callContext); ok {
		return c.attached
	}
	return ctx.Value(attachedKey{})
}

// newCall begins a call that has its turn. It must be closed.
func newCall(ctx context.Context, g Gate, t turn, l Limits, patient bool) *callContext {
	cause := overtime{"limits.deadline", l.Deadline}
	if patient {
		cause = overtime{"limits.task", l.Task}
	}
	return &callContext{parent: ctx, stop: t.pool.stop, gate: g, turn: t, asking: l.Ask,
		cause: cause, until: time.Now().Add(cause.limit)}
}

// newStart begins the making of an image, in which nobody can be asked.
func newStart(ctx context.Context, g Gate, l Limits) *callContext {
	return &callContext{parent: ctx, gate: g, start: true, until: time.Now().Add(l.Start)}
}

func (c *callContext) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.waiter != nil {
		c.endLocked(nil)
	}
}

// state is a context that ended as the call did, or did not. Locked by the caller.
func (c *callContext) state() context.Context {
	if c.waiter == nil && c.closed {
		c.endLocked(nil)
	}
	if c.waiter == nil {
		return c.parent
	}
	return c.waiter
}

// end ends the call. The first cause counts.
func (c *callContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(cause)
}

func (c *callContext) endLocked(cause error) {
	if c.waiter == nil {
		c.waiter, c.cancel = context.WithCancelCause(c.parent)
	}
	c.cancel(cause)
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.unstop != nil {
		c.unstop()
	}
}

// Done is closed when the call ends.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state(); c.waiter == nil {
		c.waiter, c.cancel = context.WithCancelCause(c.parent)
		if c.stop != nil {
			c.unstop = context.AfterFunc(c.stop, func() { c.end(errDrained) })
		}
		if !c.until.IsZero() {
			c.arm(time.Until(c.until))
		}
	}
	return c.waiter.Done()
}

// arm has the waiter end when the time is over. Locked by the caller.
func (c *callContext) arm(left time.Duration) {
	switch {
	case c.waiter == nil:
	case c.timer == nil:
		c.timer = time.AfterFunc(left, func() { c.end(c.overtime()) })
	default:
		c.timer.Reset(left)
	}
}

// Value finds the call, its gate, and what is attached to its instance.
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

// Err is context.DeadlineExceeded also where the call's own time is over. It looks at the clock itself: a timer comes
// late when all processors are busy with guests.
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

// look ends the call if it is time. Locked by the caller.
func (c *callContext) look() {
	switch {
	case c.stop != nil && c.stop.Err() != nil:
		c.endLocked(errDrained)
	case !c.until.IsZero() && !time.Now().Before(c.until):
		c.endLocked(c.overtime())
	}
}

// overtime is why the call ends when its time is over.
func (c *callContext) overtime() error {
	if c.start {
		return errStart
	}
	cause := c.cause
	return &cause
}

// Deadline is when the call's time will be over, unless it is stopped before.
func (c *callContext) Deadline() (time.Time, bool) {
	until, ok := c.parent.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && (!ok || c.until.Before(until)) {
		return c.until, true
	}
	return until, ok
}
