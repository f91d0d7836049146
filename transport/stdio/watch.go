package stdio

import (
	"sync/atomic"
	"time"
)

const (
	// tick is the interval of the watch. A message waits at most two ticks for a slow call, and a call shorter than
	// one never costs a goroutine.
	tick = time.Millisecond
	// idleTicks is the number of ticks without a call after which the watch sleeps.
	idleTicks = 20
)

// watch moves the turn to a new goroutine if its owner has been in one call for a whole tick.
//
// The turn is a number that only grows: even while its owner reads, and odd during a call. The owner increments it at
// each step. The watch takes the turn by incrementing it instead, so that the owner's value no longer matches.
type watch struct {
	turn  atomic.Uint64
	awake atomic.Bool
	wake  chan struct{} // capacity 1
	stop  chan struct{} // closed to stop run
}

func newWatch() *watch {
	return &watch{wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

// begin marks the start of a call. Only the owner of the turn calls it.
func (w *watch) begin(turn *uint64) {
	*turn++
	w.turn.Store(*turn)
	if !w.awake.Load() && w.awake.CompareAndSwap(false, true) {
		select {
		case w.wake <- struct{}{}:
		default: // run has not handled the last signal yet
		}
	}
}

// end marks the end of a call, and reports whether the caller still owns the turn.
func (w *watch) end(turn *uint64) bool {
	*turn++
	return w.turn.CompareAndSwap(*turn-1, *turn)
}

// run watches s until stop is closed.
func (w *watch) run(s *server) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		t.Stop()
		select {
		case <-w.wake:
		case <-w.stop:
			return
		}
		t.Reset(tick)
		if !w.patrol(s, t.C) {
			return
		}
	}
}

// patrol checks at each tick until no call has begun for a while. It returns false when stopped.
func (w *watch) patrol(s *server, ticks <-chan time.Time) bool {
	last, idle := w.turn.Load(), 0
	for {
		select {
		case <-ticks:
		case <-w.stop:
			return false
		}
		turn := w.turn.Load()
		if idle++; turn != last {
			idle = 0
		}
		switch last = turn; {
		case idle == 0:
		case turn%2 == 1:
			w.take(s, turn)
			idle = 0
		case idle > idleTicks && w.sleep(turn):
			return true
		}
	}
}

// take passes the turn to a new goroutine, if there is room for one more call and the owner is still in the same
// call.
func (w *watch) take(s *server, turn uint64) {
	if s.calls.room() && w.turn.CompareAndSwap(turn, turn+1) {
		go s.lead(turn + 1)
	}
}

// sleep marks the watch as asleep, unless a call has begun.
func (w *watch) sleep(turn uint64) bool {
	w.awake.Store(false)
	if w.turn.Load() == turn {
		return true
	}
	w.awake.Store(true)
	return false
}
