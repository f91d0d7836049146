package protocol

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A task whose plugin keeps state is no other call than this: what its instance holds cannot be made again. So it has
// the instance from its beginning to its end, and waits in it for answers, which may come through any process
// that has the same store.

// maxKeptTasks is how many tasks of plugins that keep state live in a process: each has an instance with its
// memory, for as long as it runs or waits.
const maxKeptTasks = 32

func tooManyKept() error {
	return &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("%d tasks of plugins that keep state are going on, which is the most", maxKeptTasks)}
}

// reserve takes one of the places for kept tasks, which release gives back.
func (m *tasks) reserve() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept >= maxKeptTasks {
		return false
	}
	m.kept++
	return true
}

func (m *tasks) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept--
}

// askKept has a kept task ask, and waits for the answers.
func (r *request) askKept(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	list, complete, err := r.nextRound(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return ask.Answers(list, len(round))
	}
	ctx, resume := runtime.Pause(ctx)
	defer resume()
	ctx, cancel := context.WithTimeoutCause(ctx, r.server.opts.AskTime, runtime.ErrUnanswered)
	defer cancel()
	answers, err := r.server.tasks.put(ctx, r.task, members(ask.Requests(list).Append(nil)))
	if err != nil {
		return nil, err
	}
	for i := range list {
		if p := &list[i]; p.Open() {
			p.Answer = answers[p.Key]
		}
	}
	return ask.Answers(list, len(round))
}

// put has a task that runs here wait until it has the answers to all its questions.
func (m *tasks) put(ctx context.Context, t *task.Task, requests map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	changed := make(chan struct{}, 1)
	stop, err := m.book.Watch(ctx, t.Principal, t.ID, func(task.Task) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	now, err := m.book.Change(ctx, t.Principal, t.ID, func(t *task.Task) {
		if m.book.Mine(t) {
			t.Ask(requests)
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
			return nil, m.tooLate(ctx)
		}
		if now, err = m.book.Get(ctx, t.Principal, t.ID); err != nil {
			return nil, err
		}
	}
	if now.Status != task.Working {
		return nil, context.Canceled // elsewhere
	}
	return now.Answers, nil
}

// tooLate ends a task that got no answers in its time.
func (m *tasks) tooLate(ctx context.Context) error {
	return &runtime.EndError{Kind: runtime.KindTimeout, Err: context.Cause(ctx), Message: fmt.Sprintf(
		"nobody answered within %v, and a task whose plugin keeps state waits no longer: it may be called again", m.server.opts.AskTime)}
}
