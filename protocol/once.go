package protocol

import (
	"context"
	"errors"

	"github.com/sallyport-mcp/sallyport/protocol/once"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
)

// once keeps the calls with an idempotency key.
func (s *Server) once() *once.Keeper {
	return &once.Keeper{Store: s.opts.Store, Over: func(ctx context.Context, principal, id string) bool {
		t, err := s.tasks.Book.Get(ctx, principal, id)
		return err == nil && t.Status.Over() || errors.Is(err, task.ErrUnknown)
	}}
}

// onceCall is this call, which has a key.
func (r *request) onceCall(tool, key string) once.Call {
	c := once.Call{
		Principal: r.conn.opts.Principal, Tool: tool, Key: key, Arguments: rawjson.Get(r.params, "arguments"),
		Log: r.server.log.With("call", r.call),
	}
	if r.task != nil {
		c.Task, c.Ends = r.task.ID, r.task.Expires()
	}
	return c
}

// begunOnce finds the task that a call with the same key and arguments has begun; ok is false if there is none.
func (r *request) begunOnce(ctx context.Context, tool, key string) (t task.Task, ok bool) {
	id := r.server.once().Task(ctx, r.onceCall(tool, key))
	if id == "" {
		return t, false
	}
	t, err := r.find(ctx, id)
	return t, err == nil && (t.Status == task.Completed || !t.Status.Over())
}
