package folder

import (
	"context"
	"sync"
)

// tally counts pending files and requests. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	open  int           // pending
	quiet chan struct{} // closed while open is zero
	still int           // of open, those that are still being written
	done  chan struct{} // closed while open equals still
}

func newTally() *tally {
	t := &tally{quiet: make(chan struct{}), done: make(chan struct{})}
	close(t.quiet)
	close(t.done)
	return t
}

// working returns the number of pending files and requests, without files that are being written.
func (t *tally) working() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open - t.still
}

// await waits until a channel of t is closed and has not been replaced by a new one.
func (t *tally) await(ctx context.Context, of func(*tally) chan struct{}) error {
	now := func() chan struct{} {
		t.mu.Lock()
		defer t.mu.Unlock()
		return of(t)
	}
	for {
		closed := now()
		select {
		case <-closed:
		default: // ctx matters only if there is something to wait for
			select {
			case <-closed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if closed == now() {
			return nil
		}
	}
}

// add adds to the count and to the part of it that is being written.
func (t *tally) add(open, still int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	openBefore, workBefore := t.open, t.open-t.still
	t.open, t.still = t.open+open, t.still+still
	t.quiet = turned(t.quiet, openBefore, t.open)
	t.done = turned(t.done, workBefore, t.open-t.still)
}

// turned returns a channel that is closed while a count is zero.
func turned(c chan struct{}, before, now int) chan struct{} {
	switch {
	case before == 0 && now > 0:
		return make(chan struct{})
	case before > 0 && now == 0:
		close(c)
	}
	return c
}
