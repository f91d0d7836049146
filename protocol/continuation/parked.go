package continuation

import (
	"errors"
	"sync"
	"time"
)

// Limits for suspended calls. Each holds an instance with its memory and blocks other calls of its session.
const (
	maxParked = 32
	parkTime  = 5 * time.Minute
)

// ErrGone is the error for a call that no longer waits here or waits in another process.
var ErrGone = errors.New("requestState belongs to a call that waits no longer, or in another process, since its plugin keeps state there: send the request without it")

// ParkedCalls holds the suspended calls. It is safe for concurrent use.
type ParkedCalls struct {
	within time.Duration

	mu     sync.Mutex
	calls  map[string]*ParkedCall
	closed bool
}

// NewParkedCalls returns an empty lot. within is the time limit of a wait, five minutes at most. The caller closes it.
func NewParkedCalls(within time.Duration) *ParkedCalls {
	return &ParkedCalls{within: min(parkTime, within), calls: map[string]*ParkedCall{}}
}

// add adds a call, unless the limit is reached.
func (l *ParkedCalls) add(c *ParkedCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.calls) >= maxParked {
		return false
	}
	l.calls[c.Handle] = c
	return true
}

func (l *ParkedCalls) remove(c *ParkedCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.Handle)
}

// Take returns the call that waits under a handle, or nil. It succeeds once per round of questions.
func (l *ParkedCalls) Take(handle string) *ParkedCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[handle]
	delete(l.calls, handle)
	return c
}

// Close ends all suspended calls and refuses new ones.
func (l *ParkedCalls) Close() {
	l.mu.Lock()
	l.closed = true
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, c := range calls {
		c.cancel()
		<-c.done
	}
}
