package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// ErrUnanswered is the cause when the pauses of a call exceeded Limits.Ask.
var ErrUnanswered = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)

// maxPaused bounds the calls of a plugin that wait without holding a turn. Each keeps an instance with all its memory;
// further calls keep their turns while they wait.
const maxPaused = 32

// Pause stops the clock of the call that ctx belongs to while a host function waits for a person, a model or the
// client: its deadline is suspended, and another call of the plugin may run. The wait must use the returned context,
// which ends with the call, and with cause ErrUnanswered when all pauses of the call together exceed Limits.Ask. The
// caller must call resume, on any goroutine; it is idempotent, and returns when the call has its turn back. Outside a
// call both do nothing.
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

// pause stops the clock and returns the remaining pause time.
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

// resume ends one pause. After the last one, the call waits for its turn and its clock continues.
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

// halt stops the clock.
func (c *callContext) halt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.left, c.until = time.Until(c.until), time.Time{}
}

// turn is the right of one call to run, which counts towards its plugin's concurrency. The zero turn counts towards
// nothing.
type turn struct {
	pool   *Pool
	ticket *ticket
	away   bool
}

// give releases the turn, unless maxPaused calls already wait.
func (t *turn) give() {
	if t.pool != nil {
		t.away = t.pool.queue.pause(t.ticket)
	}
}

// take waits for the turn. If ctx is done first, the call proceeds to its end without one.
func (t *turn) take(ctx context.Context) {
	if t.away {
		t.away = false
		t.pool.queue.resume(ctx, t.ticket)
	}
}
