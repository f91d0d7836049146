package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// notePause is the delay before the outcome of a task is written again after a store error.
const notePause = time.Second

// run is one run of a task in this process.
type run struct{ stop context.CancelFunc }

// start runs a task until it ends or asks.
func (r *Runner) start(t Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return // the next process adopts it
	}
	ctx, cancel := context.WithDeadline(r.ctx, t.Expires())
	if t.Durable() {
		ctx = store.Fenced(ctx, t.fence(r.Book.owner))
	}
	if before := r.running[t.ID]; before != nil {
		before.stop() // the task went to another process meanwhile
	}
	this := &run{cancel}
	r.running[t.ID] = this
	r.Book.stir()
	r.work.Go(func() {
		defer cancel()
		if t.Kept {
			defer r.kept.release()
		}
		if !r.Book.runs(&t) { // cancelled before cancel could find it
			cancel()
		}
		outcome := r.o.Run(ctx, &t)
		r.ended(t.ID, this)
		if outcome.Body == nil && t.Durable() && !t.Kept && r.ctx.Err() != nil {
			return // the adopting process continues it
		}
		r.note(t, outcome)
	})
}

// ended forgets a run, but no later one of its task.
func (r *Runner) ended(id string, this *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[id] == this {
		delete(r.running, id)
	}
}

// note stores the outcome of a run. It retries store errors until the runner closes; the task counts as running
// meanwhile.
func (r *Runner) note(t Task, o Outcome) {
	over := true
	ours := func(now *Task) bool { return r.Book.mine(now) && now.sameRun(&t) }
	for try := 1; ; try++ {
		now, err := r.Book.Change(context.Background(), t.Principal, t.ID, func(t *Task) {
			if ours(t) {
				settle(t, o)
			}
		})
		if err == nil && now.Status == Working && !ours(&now) {
			return // another run needs the journal
		}
		if err == nil || errors.Is(err, ErrUnknown) {
			over = err != nil || now.Status.Over()
			break
		}
		if try == 1 {
			r.o.Log.Error("a task's outcome cannot be kept, and is tried again", "task", t.ID, "error", err)
		}
		select {
		case <-time.After(notePause):
		case <-r.ctx.Done():
			return
		}
	}
	if t.Durable() {
		if err := r.Book.Parts.Remove(context.Background(), &t, over); err != nil {
			r.o.Log.Warn("the journal of a finished task remains", "task", t.ID, "error", err)
		}
	}
}

// settle updates the task with the outcome of its run.
func settle(t *Task, o Outcome) {
	result := jsonraw.Get(o.Body, "result")
	kind, _ := jsonraw.String(jsonraw.Get(result, "resultType"))
	switch {
	case o.Body == nil && t.Kept:
		t.lose()
	case o.Body == nil:
		t.Status, t.Message = Failed, "the host was stopped while this task ran"
		t.Error = json.RawMessage(`{"code":-32603,"message":"the host was stopped while this task ran"}`)
	case o.Err != nil:
		t.Status, t.Message, t.Error = Failed, jsonrpc.Clip(o.Err.Message), jsonraw.Get(o.Body, "error")
	case kind == "input_required":
		t.State, _ = jsonraw.String(jsonraw.Get(result, "requestState"))
		asked, _ := jsonraw.ParseObject(jsonraw.Get(result, "inputRequests"))
		t.Ask(byKey(asked))
	default:
		t.Status, t.Result = Completed, result
	}
}

// byKey returns the members of an object as a map.
func byKey(o jsonraw.Object) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(o))
	for _, m := range o {
		all[m.Key] = m.Value
	}
	return all
}
