package parked

import (
	"errors"
	"sync"
	"time"
)

// Bounds on calls that wait where they asked. Each has an instance with its memory, and no other call of its session
// gets past it.
const (
	maxParked = 32
	parkTime  = 5 * time.Minute
)

// ErrGone is what became of a call that waited here, or does elsewhere.
var ErrGone = errors.New("requestState belongs to a call that waits no longer, or in another process, since its plugin keeps state there: send the request without it")

// Lot has the calls that wait. It is safe for concurrent use.
type Lot struct {
	within time.Duration

	mu     sync.Mutex
	calls  map[string]*Call
	closed bool
}

// NewLot returns an empty lot, in which a call waits so long, and five minutes at most. The caller closes it.
func NewLot(within time.Duration) *Lot {
	return &Lot{within: min(parkTime, within), calls: map[string]*Call{}}
}

// add takes a call in, unless there are too many.
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

// Take returns the call that waits under a handle, nil if there is none. It can be taken once for each question.
func (l *Lot) Take(handle string) *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[handle]
	delete(l.calls, handle)
	return c
}

// Close ends all that wait, and lets none wait any more.
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
