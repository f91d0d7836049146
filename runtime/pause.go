package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// ErrUnanswered is the cause when a pause lasted longer than the limit Ask.
var ErrUnanswered = fmt.Errorf("nobody answered in time: %w", context.DeadlineExceeded)

// maxPaused is how many calls of a plugin may wait outside of its turns. Each keeps an instance with
// all its memory; those that come later keep their turns while they wait.
const maxPaused = 32

// Pause stops the time of the call that ctx belongs to while a host function waits for a person, a
// model or the client: the call's deadline does not come nearer, and another call of the plugin may
// run meanwhile. The wait itself is done under the context returned, which ends with the call, and
// with cause ErrUnanswered when all pauses of the call have lasted as long as the limit Ask. resume
// must be called, on any goroutine, and may be called again; it returns when the call has its turn
// back. Outside a call both do nothing.
//
//	wait, resume := runtime.Pause(ctx)
//	defer resume()
//	answer, err := client.Ask(wait, question)
func Pause(ctx context.Context) (wait context.Context, resume func()) {
	c := callOf(ctx)
	if c == nil {
		return ctx, func() {}
	}
	wait, cancel := context.WithTimeoutCause(ctx, c.pause(), ErrUnanswered)
	return wait, sync.OnceFunc(func() {
		cancel()
		c.resume()
	})
}

// pause stops the time and returns how long it may be stopped.
func (c *callContext) pause() time.Duration {
	c.pausing.Lock()
	defer c.pausing.Unlock()
	if c.waits++; c.waits > 1 {
		return max(c.asking-time.Since(c.since), 0)
	}
	c.since = time.Now()
	c.halt()
	c.turn.give()
	return c.asking
}

// resume ends one pause. When none is left the call waits for its turn, and its time goes on.
func (c *callContext) resume() {
	c.pausing.Lock()
	defer c.pausing.Unlock()
	if c.waits--; c.waits > 0 {
		return
	}
	c.asking = max(c.asking-time.Since(c.since), 0)
	c.turn.take(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Now().Add(c.left)
	c.arm(c.left)
}

// halt stops the time.
func (c *callContext) halt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.left, c.until = time.Until(c.until), time.Time{}
}

// turn is the right of one call to run, which counts against its plugin's concurrency. The zero turn
// counts against nothing.
type turn struct {
	pool   *Pool
	ticket *ticket
	away   bool
}

// give lets another call run, unless too many wait already.
func (t *turn) give() {
	if t.pool != nil {
		t.away = t.pool.queue.pause(t.ticket)
	}
}

// take waits for the turn. When ctx is done first the call goes on to its end without one.
func (t *turn) take(ctx context.Context) {
	if t.away {
		t.away = false
		t.pool.queue.resume(ctx, t.ticket)
	}
}
