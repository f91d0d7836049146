package runtime

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// queue schedules the calls of one plugin. As many run as there are places; the others wait, each for at most
// Limits.Wait. Callers take turns, and so do the sessions of a caller, so that no caller waits for the whole backlog
// of another:
//
//	places    Concurrency for plain calls, and as many separate ones for tasks
//	spare     half as many more, for callers without a running call of that kind: long calls cannot starve other callers
//	waiting   Queue plain calls at most; one more replaces the newest of the caller with the most, if that differs
//	class     its callers together have no more places, nor waiting calls, than its own Concurrency and Queue
//
// A call that returns from a pause goes first. A kept instance serves one call at a time: calls that wait for it are
// passed over, and hold no place meanwhile.
type queue struct {
	terms []*terms // by class
	load  *workload

	mu    sync.Mutex
	plain line
	tasks line
	busy  map[string]bool // kept instances that serve a call, by session
	away  int             // paused calls that released their turns
}

// methodCallTool is the method that may run long.
const methodCallTool = "tools/call"

// holder is the party that a call is charged to. Tool calls do not starve the resources, prompts and completions of
// the same caller.
type holder struct {
	caller string
	tool   bool
	class  int
}

// anyClass returns the holder of the calls of all classes: the roles of a caller can differ from call to call.
func (h holder) anyClass() holder {
	h.class = 0
	return h
}

// ticket is the claim of one call to a turn.
type ticket struct {
	who     holder
	session string

	instance string // the session of the kept instance; "" under StatePlugin
	kept     bool   // it needs exclusive use of a kept instance
	patient  bool

	granted bool
	back    bool      // it returns from a pause and still holds its instance
	since   time.Time // start of its turn
	wait    *wait     // the last wait for a turn; nil for a ticket that did not wait
}

// wait is the wait of one ticket for its turn.
type wait struct {
	ready  chan struct{} // closed when the wait is over
	err    error         // why it got no turn; set before ready is closed
	number uint64        // serial number among the waits of the line
	place  position      // in the line, until it is over
}

func newWait() *wait { return &wait{ready: make(chan struct{})} }

// BusyError is the cause of a call rejected for lack of capacity: the call has not begun, and may be retried.
type BusyError struct {
	// After is the estimated time until there is capacity.
	After time.Duration
	// Quota means that the caller has used its own share up, while there may be room for others.
	Quota bool
}

// Error returns a fixed text.
func (e *BusyError) Error() string {
	if e.Quota {
		return "the caller has used its quota up"
	}
	return "there is no room for the call"
}

func newQueue(all []*terms) *queue {
	places := all[0].Concurrency
	return &queue{terms: all, load: &workload{}, plain: newLine(places, (places+1)/2, all), tasks: newLine(places, 0, all), busy: map[string]bool{}}
}

func (q *queue) line(t *ticket) *line {
	if t.patient {
		return &q.tasks
	}
	return &q.plain
}

// enter waits for the ticket's turn. If mayWait is false, it fails instead of waiting.
func (q *queue) enter(ctx, stop context.Context, t *ticket, mayWait bool) error {
	q.mu.Lock()
	l := q.line(t)
	switch {
	case q.free(l, t):
		q.grant(l, t)
		q.mu.Unlock()
		return nil
	case !mayWait:
		running := l.running
		if c := &l.classes[t.who.class]; c.full() {
			running = c.running
		}
		q.mu.Unlock()
		return &EndError{Kind: KindLimit, Message: fmt.Sprintf("a call within a call does not wait: %d run already", running)}
	}
	if err := q.room(l, t); err != nil {
		q.mu.Unlock()
		return err
	}
	t.wait = newWait()
	l.add(t)
	q.mu.Unlock()
	return q.await(ctx, stop, t)
}

// await returns when the ticket has its turn, is rejected, or has waited for Limits.Wait. A task waits without limit.
func (q *queue) await(ctx, stop context.Context, t *ticket) error {
	defer q.load.wait()()
	var late <-chan time.Time
	if !t.patient {
		timer := time.NewTimer(q.terms[t.who.class].Wait)
		defer timer.Stop()
		late = timer.C
	}
	var err error
	select {
	case <-t.wait.ready:
		return t.wait.err
	case <-late:
		err = q.tooLate(t)
	case <-ctx.Done():
		err = outOfTime(ctx, ctx.Err(), "")
	case <-stop.Done():
		err = outOfTime(stop, stop.Err(), "")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.granted { // since the select
		return nil
	}
	if t.wait.err != nil {
		return t.wait.err
	}
	q.line(t).remove(t)
	return err
}

// room makes room for one more waiting plain call. If the queue is full, or the part of the caller's class, it rejects
// the call itself, or the newest call of a holder that has more of them.
func (q *queue) room(l *line, t *ticket) error {
	class, most := &l.classes[t.who.class], q.terms[t.who.class].own.Queue
	switch {
	case t.patient:
		return nil
	case most > 0 && class.waiting >= most:
		return l.replace(t, func(h holder) bool { return h.class == t.who.class }, q.full(t, class.running, class.waiting, Setting("queue", true)))
	case l.waiting >= max(q.terms[0].Queue, 0):
		return l.replace(t, func(holder) bool { return true }, q.full(t, l.running, l.waiting, Setting("queue", false)))
	}
	return nil
}

// full is the error of a call for which there is no room among those that run and wait.
func (q *queue) full(t *ticket, running, waiting int, setting string) error {
	return &EndError{Kind: KindLimit, Err: &BusyError{After: q.line(t).estimate(q.terms[t.who.class].Wait)},
		Message: fmt.Sprintf("too many calls: %d run and %d wait (%s): try again", running, waiting, setting)}
}

func (q *queue) tooLate(t *ticket) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	on := q.terms[t.who.class]
	return &EndError{Kind: KindLimit, Err: &BusyError{After: q.plain.estimate(on.Wait)},
		Message: fmt.Sprintf("the call waited %v for its turn (%s), and has not begun: try again", on.Wait, Setting("wait", on.own.Wait != 0))}
}

// free reports whether the ticket could have its turn now. The caller holds mu, as for all methods below that do not
// lock it.
func (q *queue) free(l *line, t *ticket) bool {
	return l.open(t.who) && !(t.kept && q.busy[t.instance])
}

// grant gives the ticket its turn.
func (q *queue) grant(l *line, t *ticket) {
	l.running++
	l.held[t.who.anyClass()]++
	l.classes[t.who.class].running++
	if t.kept {
		q.busy[t.instance] = true
	}
	t.granted, t.since = true, time.Now()
	if t.wait != nil {
		close(t.wait.ready)
	}
}

// next grants the free places to waiting tickets.
func (q *queue) next(l *line) {
	for l.running < l.places+l.spare {
		t := l.take(q.busy)
		if t == nil {
			return
		}
		q.grant(l, t)
	}
}

// leave ends the turn, and the call's claim to its kept instance.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.giveUp(t)
	if t.kept {
		delete(q.busy, t.instance)
		q.next(q.other(t)) // tasks and plain calls share the instance
		q.next(q.line(t))
	}
}

func (q *queue) other(t *ticket) *line {
	if t.patient {
		return &q.plain
	}
	return &q.tasks
}

// giveUp ends the turn, if there is one.
func (q *queue) giveUp(t *ticket) {
	l := q.line(t)
	if !t.granted {
		return
	}
	t.granted = false
	l.leave(t)
	q.next(l)
}

// pause ends the turn while the call keeps its instance, and reports true. It reports false if maxPaused calls already
// did so.
func (q *queue) pause(t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away >= maxPaused {
		return false
	}
	q.away++
	q.giveUp(t)
	return true
}

// resume waits for the turn of a paused call. If ctx is done first, the call proceeds to its end without one.
func (q *queue) resume(ctx context.Context, t *ticket) {
	q.mu.Lock()
	l := q.line(t)
	q.away--
	t.back = true
	if l.open(t.who) {
		t.wait = nil
		q.grant(l, t)
		q.mu.Unlock()
		return
	}
	t.wait = newWait()
	l.add(t)
	q.mu.Unlock()
	select {
	case <-t.wait.ready:
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		if !t.granted {
			l.remove(t)
		}
	}
}

// estimate returns the expected time until there is capacity, from the usual duration of calls: at least a second.
func (l *line) estimate(most time.Duration) time.Duration {
	after := time.Duration(float64(l.usual) * float64(l.waiting) / float64(l.places))
	return min(max(after, time.Second), max(most, time.Second), math.MaxInt32*time.Millisecond)
}
