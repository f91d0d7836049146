package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
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

// onceCall describes this call, which has an idempotency key.
func (r *request) onceCall(tool, key string) idempotency.Call {
	c := idempotency.Call{
		Principal: r.conn.opts.Principal, Tool: tool, Key: key, Arguments: jsonraw.Get(r.call.Params, "arguments"),
		ID: r.callID, Begun: r.claimed, Explain: explain, Log: r.server.log.With("call", r.callID),
	}
	if r.call.Modern {
		c.Asked = r.asking
	}
	if r.task != nil {
		c.Task, c.Ends = r.task.ID, r.task.Expires()
	}
	return c
}

// asking returns the input_required result and its expiry.
func (r *request) asking() (jsonraw.Object, time.Time, error) {
	raw, err := r.inputRequest()
	if err != nil {
		return nil, time.Time{}, err
	}
	o, err := jsonraw.ParseObject(raw)
	return o, r.resumption.until, err
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

// claimed records the request's claim on its idempotency key, or clears it if c is nil.
func (r *request) claimed(c *idempotency.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claim = c
}

var _ hostfuncs.IntentListener = (*request)(nil)

// Intends records an intended effect before it is executed.
func (r *request) Intends(what string) error {
	r.mu.Lock()
	claim := r.claim
	r.touched = append(r.touched, what)
	r.mu.Unlock()
	if claim == nil {
		return nil
	}
	return claim.Intends(what)
}

// Recants removes an intent that had no effect.
func (r *request) Recants(what string) {
	r.mu.Lock()
	claim := r.claim
	if i := slices.Index(r.touched, what); i >= 0 {
		r.touched = slices.Delete(r.touched, i, i+1)
	}
	r.mu.Unlock()
	if claim != nil {
		claim.Recants(what)
	}
}

// changed returns the intended effects of this run.
func (r *request) changed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.touched)
}

// openFor opens the task of a call with an idempotency key, or finds the existing one.
func (r *request) openFor(ctx context.Context, tool, key string, n task.New, known func(id string)) (task.Task, error) {
	n.ID = rand.Text()
	c := r.onceCall(tool, key)
	c.Task, c.Ends = n.ID, r.server.now().Add(task.Lasts(n))
	id, release, err := r.server.once().Reserve(ctx, c, func(id string) bool {
		_, err := r.find(ctx, id)
		return err == nil
	})
	if err != nil {
		return task.Task{}, err
	}
	if id != n.ID {
		known(id)
		return r.find(ctx, id)
	}
	t, err := r.server.tasks.Open(ctx, n, known)
	if err != nil {
		release()
	}
	return t, err
}
