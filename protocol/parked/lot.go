package parked

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

// Lot holds the suspended calls. It is safe for concurrent use.
type Lot struct {
	within time.Duration

	mu     sync.Mutex
	calls  map[string]*Call
	closed bool
}

// NewLot returns an empty lot. within is the time limit of a wait, five minutes at most. The caller closes it.
func NewLot(within time.Duration) *Lot {
	return &Lot{within: min(parkTime, within), calls: map[string]*Call{}}
}

// add adds a call, unless the limit is reached.
func (l *Lot) add(c *Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.calls) >= maxParked {
		return false
	}
	l.calls[c.Handle] = c
	return true
}

func (l *Lot) remove(c *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.Handle)
}

// Take returns the call that waits under a handle, or nil. It succeeds once per round of questions.
func (l *Lot) Take(handle string) *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[handle]
	delete(l.calls, handle)
	return c
}

// Close ends all suspended calls and refuses new ones.
func (l *Lot) Close() {
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
