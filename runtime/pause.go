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

// pauses are the times at which the clock of a call stands still.
type pauses struct {
	mu      sync.Mutex
	running int           // pauses in progress
	since   time.Time     // start of the first one in progress
	left    time.Duration // time left for pauses
	clock   time.Duration // time left until the call's deadline, during a pause
}

// pause stops the clock and returns the remaining pause time.
func (c *callContext) pause() time.Duration {
	p := &c.pauses
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running++; p.running > 1 {
		return max(p.left-time.Since(p.since), 0)
	}
	p.since = time.Now()
	p.clock = c.halt()
	c.turn.give()
	return p.left
}

// resume ends one pause. After the last one, the call waits for its turn and its clock continues.
func (c *callContext) resume() {
	p := &c.pauses
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running--; p.running > 0 {
		return
	}
	p.left = max(p.left-time.Since(p.since), 0)
	c.turn.take(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Now().Add(p.clock)
	c.arm(p.clock)
}

// halt stops the clock and returns the time left until the deadline.
func (c *callContext) halt() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiter.timer != nil {
		c.waiter.timer.Stop()
	}
	left := time.Until(c.until)
	c.until = time.Time{}
	return left
}

// turn is the right of one call to run, which counts towards its plugin's concurrency. The zero turn counts towards
// nothing.
type turn struct {
	pool   *Pool
	ticket *ticket
	away   bool
}

// stop returns the context that is done when the pool stops; nil for the zero turn.
func (t *turn) stop() context.Context {
	if t.pool == nil {
		return nil
	}
	return t.pool.stop
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
