package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/protocol/idempotency"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// once returns the keeper of calls with an idempotency key.
func (s *Server) once() *idempotency.Keeper {
	return &idempotency.Keeper{Store: s.opts.Store, Owner: s.tasks.Book.Owner(), Over: func(ctx context.Context, principal, id string) (over, known bool) {
		t, err := s.tasks.Book.Get(ctx, principal, id)
		return err == nil && t.Status.Over(), !errors.Is(err, task.ErrUnknown)
	}}
}

// keyedCall describes a call with an idempotency key.
func keyedCall(r *request, tool, key string) idempotency.Call {
	c := idempotency.Call{
		Principal: r.conn.opts.Principal, Tool: tool, Key: key, Arguments: jsonraw.Get(r.call.Params, "arguments"),
		ID: r.id, Begun: r.claimed, Explain: explain, Log: r.log.With("call", r.id),
		Later: func(f func(context.Context)) { r.server.tasks.Go(func() { f(r.server.tasks.Context()) }) },
	}
	if r.call.Modern {
		c.Asked = func() (jsonraw.Object, time.Time, error) { return r.resumption.asking(r.id, r.minted) }
	}
	if r.task != nil {
		c.Task, c.Ends = r.task.ID, r.task.Expires()
	}
	return c
}

// explain returns the reason of a failed call.
func explain(err error) string {
	var guest *runtime.GuestError
	if errors.As(err, &guest) {
		text, _ := sanitize.Text(guest.Message)
		return text
	}
	if f := result.FailureOf(err); f != nil {
		return f.Text
	}
	return "internal error"
}

// openTaskOnce opens the task of a call with an idempotency key, or finds the existing one.
func openTaskOnce(ctx context.Context, r *request, tool, key string, n task.New, known func(id string)) (task.Task, error) {
	n.ID = rand.Text()
	c := keyedCall(r, tool, key)
	c.Task, c.Ends = n.ID, r.server.now().Add(task.Lasts(n))
	id, release, err := r.server.once().Reserve(ctx, c, func(id string) bool {
		_, err := r.conn.task(ctx, id)
		return err == nil
	})
	if err != nil {
		return task.Task{}, err
	}
	if id != n.ID {
		known(id)
		t, err := r.conn.task(ctx, id)
		return t, taskError(err)
	}
	t, err := r.server.tasks.Open(ctx, n, known)
	if err != nil && !errors.Is(err, store.ErrUnknown) { // then the next call with the key finds the task, if it was stored
		release()
	}
	return t, err
}
