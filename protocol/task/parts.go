package task

import (
	"context"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Parts holds the stored journals of the runs of tasks, in parts.
type Parts struct{ store *store.Store }

// List returns the journal of the task's current run.
func (p Parts) List(ctx context.Context, t *Task) ([][]byte, error) {
	list, err := p.store.Below(ctx, store.Part, t.run())
	parts := make([][]byte, len(list))
	for i, r := range list {
		parts[i] = r.Data
	}
	return parts, err
}

// Add stores part n of the journal of the task's current run. The error is store.ErrExists if the part exists, as
// another process then runs the task.
func (p Parts) Add(ctx context.Context, t *Task, n int, data []byte) error {
	_, err := p.store.Add(ctx, store.Part, store.Record{
		ID: fmt.Sprintf("%s/%08d", t.run(), n), Principal: t.Principal, Data: data, Expires: t.Expires(),
	})
	return err
}

// Remove removes the journal of a finished run. The journal of a later run, here or in another process, is kept. With
// over, the task is finished, and the journals of all runs are removed.
func (p Parts) Remove(ctx context.Context, run *Task, over bool) error {
	if over {
		return p.store.RemoveBelow(ctx, store.Part, run.ID)
	}
	return p.store.RemoveBelow(ctx, store.Part, run.run())
}

// run returns the name of the task's current run.
func (t *Task) run() string { return fmt.Sprintf("%s/%d", t.ID, t.Round) }
