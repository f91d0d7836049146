package protocol

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/protocol/task"
)

// wantedTasks reads params.notifications.taskIds, drops tasks of other callers, and returns the remaining IDs.
func wantedTasks(ctx context.Context, r *request, honoured *jsonraw.Object) (ids []string, err error) {
	list := jsonraw.Get(r.call.Params, "notifications", "taskIds")
	if jsonraw.IsNull(list) {
		return nil, nil
	}
	if !r.call.Declares(extensionTasks) {
		return nil, missingTasks()
	}
	raw, err := jsonraw.Elements(list)
	if err != nil || len(raw) > notify.MaxTopics {
		return nil, jsonrpc.InvalidParams("params.notifications.taskIds must be an array of at most %d tasks", notify.MaxTopics)
	}
	for _, element := range raw {
		id, ok := jsonraw.String(element)
		if !ok {
			return nil, jsonrpc.InvalidParams("params.notifications.taskIds must hold strings")
		}
		switch _, err := r.conn.task(ctx, id); {
		case err == nil && !slices.Contains(ids, id):
			ids = append(ids, id)
		case err != nil && !errors.Is(err, task.ErrUnknown):
			return nil, taskError(err)
		}
	}
	honoured.Set("taskIds", jsonraw.Strings(ids))
	return ids, nil
}

// watchTasks sends task updates to a subscription until stop is called.
func (c *Conn) watchTasks(ctx context.Context, s *notify.Subscription, ids []string) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	for _, id := range ids {
		one, err := c.server.tasks.Book.Watch(ctx, c.opts.Principal, id, s.TellTask, nil)
		if err != nil {
			stop()
			return nil, taskError(err)
		}
		stops = append(stops, one)
	}
	return stop, nil
}

// watchTask sends status updates of a task to its 2025-11-25 session while the session lasts. It also sends the
// task's questions if they reach the client outside a request; otherwise the client waits for them in tasks/result.
func (c *Conn) watchTask(ctx context.Context, id string) {
	if !c.announcesChanges() {
		return
	}
	m := c.server.tasks
	m.Clients.Hear(id, c.opts.Notify)
	asking, cancel := context.WithCancel(m.Context())
	over := func() {
		cancel()
		m.Clients.Hear(id, nil)
		c.watches.remove(id)
	}
	stop, err := m.Book.Watch(ctx, c.opts.Principal, id, func(t task.Task) {
		c.opts.Notify(jsonrpc.Notification("notifications/tasks/status", t.DescribeLegacy()))
		switch {
		case t.Status == task.Input && c.opts.Heard != nil && c.opts.Heard():
			c.askUnbidden(asking, t)
		case t.Status.Over():
			over()
		}
	}, over)
	if err != nil {
		cancel()
		m.Clients.Hear(id, nil)
		return // the client polls anyway
	}
	c.watches.add(id, func() {
		cancel()
		stop()
		m.Clients.Hear(id, nil)
	})
	if asking.Err() != nil { // over already: its removal may have preceded
		stop()
		c.watches.remove(id)
	}
}

// askUnbidden sends the questions of a task outside tasks/result and does not wait for the answers.
func (c *Conn) askUnbidden(ctx context.Context, t task.Task) {
	m := c.server.tasks
	m.Go(func() {
		stream := notify.Stream{Send: c.opts.Notify}
		if err := c.askForTask(ctx, &t, stream.Tell, false); err != nil && ctx.Err() == nil {
			c.server.log.Warn("the answers to a task's questions are lost", "task", t.ID, "error", err)
		}
	})
}

// taskWatches holds the watches of Conn.watchTask. It is safe for concurrent use.
type taskWatches struct {
	mu    sync.Mutex
	stops map[string]func() // by task ID
}

func (w *taskWatches) add(id string, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stops == nil {
		w.stops = map[string]func(){}
	}
	w.stops[id] = stop
}

func (w *taskWatches) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.stops, id)
}

// stopAll ends all watches.
func (w *taskWatches) stopAll() {
	w.mu.Lock()
	stops := w.stops
	w.stops = nil
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}
