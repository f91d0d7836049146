package task

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A kept task of a stateful plugin cannot be replayed in a new instance. It holds its instance from start to end
// and waits in it for answers, which may arrive through any process with the same store.

// maxKeptTasks is the maximum number of kept tasks per process. Each holds an instance with its memory while it runs or
// waits.
const maxKeptTasks = 32

func tooManyKept() error {
	return &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("%d tasks of plugins that keep state are going on, which is the most", maxKeptTasks)}
}

// keptSlots counts the kept tasks of a process. It is safe for concurrent use.
type keptSlots struct {
	mu sync.Mutex
	n  int
}

// reserve takes one of the maxKeptTasks slots; release returns it.
func (s *keptSlots) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= maxKeptTasks {
		return false
	}
	s.n++
	return true
}

func (s *keptSlots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
}

// Ask publishes the questions of a kept task that runs here, and waits for all answers, at most for within.
// Questions and answers are by key.
func (r *Runner) Ask(ctx context.Context, t *Task, questions jsonraw.Object, within time.Duration) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, runtime.ErrUnanswered)
	defer cancel()
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	stop, err := r.Book.Watch(ctx, t.Principal, t.ID, func(Task) { wake() }, wake)
	if err != nil {
		return nil, err
	}
	defer stop()
	now, err := r.Book.Change(ctx, t.Principal, t.ID, func(t *Task) {
		if r.Book.mine(t) {
			t.Ask(byKey(questions))
		}
	})
	if err != nil {
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the task's questions cannot be stored", Err: err}
	}
	t.Asked = now.Asked
	for now.Status == Input {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, tooLate(ctx, within)
		}
		if now, err = r.Book.Get(ctx, t.Principal, t.ID); err != nil {
			return nil, err
		}
	}
	if now.Status != Working {
		return nil, context.Canceled // ended elsewhere
	}
	return now.Answers, nil
}

// tooLate returns the error of a task without answers at its deadline.
func tooLate(ctx context.Context, within time.Duration) error {
	return &runtime.EndError{Kind: runtime.KindTimeout, Err: context.Cause(ctx), Message: fmt.Sprintf(
		"no answer within %v, which is the limit for a task of a plugin with kept state: it may be called again", within)}
}
