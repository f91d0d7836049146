package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A task whose plugin keeps state is no other call than this: what its instance holds cannot be made again. So it has
// the instance from its beginning to its end, and waits in it for answers, which may come through any process
// that has the same store.

// maxKept is how many tasks of plugins that keep state live in a process: each has an instance with its
// memory, for as long as it runs or waits.
const maxKept = 32

func tooManyKept() error {
	return &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("%d tasks of plugins that keep state are going on, which is the most", maxKept)}
}

// reserve takes one of the places for kept tasks, which release gives back.
func (r *Runner) reserve() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept >= maxKept {
		return false
	}
	r.kept++
	return true
}

func (r *Runner) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept--
}

// Ask has a kept task that runs here wait until it has the answers to all its questions, so long and no longer. Questions
// and answers are by key.
func (r *Runner) Ask(ctx context.Context, t *task.Task, questions jsonraw.Object, within time.Duration) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, runtime.ErrUnanswered)
	defer cancel()
	changed := make(chan struct{}, 1)
	stop, err := r.Book.Watch(ctx, t.Principal, t.ID, func(task.Task) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	now, err := r.Book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		if r.Book.Mine(t) {
			t.Ask(byKey(questions))
		}
	})
	if err != nil {
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "what the task asks cannot be kept", Err: err}
	}
	t.Asked = now.Asked
	for now.Status == task.Input {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, tooLate(ctx, within)
		}
		if now, err = r.Book.Get(ctx, t.Principal, t.ID); err != nil {
			return nil, err
		}
	}
	if now.Status != task.Working {
		return nil, context.Canceled // elsewhere
	}
	return now.Answers, nil
}

// tooLate ends a task that got no answers in its time.
func tooLate(ctx context.Context, within time.Duration) error {
	return &runtime.EndError{Kind: runtime.KindTimeout, Err: context.Cause(ctx), Message: fmt.Sprintf(
		"nobody answered within %v, and a task whose plugin keeps state waits no longer: it may be called again", within)}
}
