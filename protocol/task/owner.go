package task

import (
	"context"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Take makes this process the one that runs the task, from where it asked; a kept one stays where it is. It is for
// Change.
func (b *Book) Take(t *Task) {
	if t.Status = Working; !t.Kept {
		t.Owner = b.owner
	}
	t.Round, t.Tries = t.Round+1, 0
}

// Owner is the name of this process.
func (b *Book) Owner() string { return b.owner }

// Ready holds this process's name, by which others know that it lives. It is called before Take.
func (b *Book) Ready() error {
	if b.store == nil {
		return nil
	}
	return b.store.Hold(b.owner)
}

// Mine reports whether this process has the task running.
func (b *Book) Mine(t *Task) bool { return t.lives() && t.Owner == b.owner }

// Keeps reports whether a task of this process is in the store, and goes on.
func (b *Book) Keeps(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	return t != nil && t.Durable()
}

// Running are the tasks in the store that this process runs, by ID.
func (b *Book) Running(ctx context.Context) (map[string]bool, error) {
	if b.store == nil {
		return nil, nil
	}
	list, err := b.store.Labelled(ctx, store.Task, b.owner)
	running := make(map[string]bool, len(list))
	for _, r := range list {
		running[r.ID] = true
	}
	return running, err
}

// Orphans are the tasks in the store that run, and whose process has gone. Of them only ID and Principal are
// there.
func (b *Book) Orphans(ctx context.Context) (orphans []Task, err error) {
	if b.store == nil {
		return nil, nil
	}
	list, err := b.store.Labelled(ctx, store.Task, "")
	gone := map[string]bool{}
	for _, r := range list {
		if _, known := gone[r.Label]; !known {
			gone[r.Label] = r.Label != b.owner && b.store.Gone(r.Label)
		}
		if gone[r.Label] {
			orphans = append(orphans, Task{ID: r.ID, Principal: r.Principal})
		}
	}
	return orphans, err
}

// Orphan reports whether a task runs and its process has gone.
func (b *Book) Orphan(t *Task) bool {
	return t.lives() && t.Owner != b.owner && b.store != nil && b.store.Gone(t.Owner)
}

// Adopt makes this process the one that runs an orphan, if it may. It is not ours if another one was faster, or if it
// brought too many processes down, or cannot be run again.
func (b *Book) Adopt(ctx context.Context, orphan Task, may func(*Task) bool) (t Task, ours bool, err error) {
	if err := b.Ready(); err != nil {
		return Task{}, false, err
	}
	t, err = b.Change(ctx, orphan.Principal, orphan.ID, func(t *Task) {
		if ours = b.Orphan(t) && (t.Kept || may(t)); !ours {
			return
		}
		if t.Owner, t.Tries = b.owner, t.Tries+1; t.Kept {
			ours = false
			t.Lose()
			return
		}
		if ours = t.Tries <= maxTries; !ours {
			t.Status, t.Message = Failed, fmt.Sprintf("%d hosts in turn have gone while they ran this task", maxTries)
			t.Error = []byte(`{"code":-32603,"message":"the hosts that ran this task have gone again and again","data":{"kind":"unavailable"}}`)
		}
	})
	return t, ours && err == nil && b.Mine(&t), err // not where another one adopted it and brought it to its end meanwhile
}

// Lose ends a kept task whose process has gone. It is for Change.
func (t *Task) Lose() {
	t.Status, t.Message = Failed, "the host ended while this task ran, and with it what its plugin had in memory, "+
		"which cannot be made again: what the task did until then stays done, and it may be called again"
	t.Error = fmt.Appendf(nil, `{"code":-32603,"message":%q,"data":{"kind":"unavailable","retryable":true}}`, t.Message)
}

// Parts returns the journal of the run that a task is in, as far as it was kept.
func (b *Book) Parts(ctx context.Context, t *Task) ([][]byte, error) {
	list, err := b.store.Below(ctx, store.Part, t.run())
	parts := make([][]byte, len(list))
	for i, r := range list {
		parts[i] = r.Data
	}
	return parts, err
}

// AddPart keeps the n-th part of the journal of the run that a task is in. The error is store.ErrExists if
// there is one already: another process runs the task.
func (b *Book) AddPart(ctx context.Context, t *Task, n int, data []byte) error {
	_, err := b.store.Add(ctx, store.Part, store.Record{
		ID: fmt.Sprintf("%s/%08d", t.run(), n), Principal: t.Principal, Data: data, Expires: t.Expires(),
	})
	return err
}

// RemoveParts removes the kept journal of one run of a task, which has ended. The next run may have begun meanwhile, in
// this process or another one: its journal stays. With over, the task has ended, and nothing of any run is kept.
func (b *Book) RemoveParts(ctx context.Context, run *Task, over bool) error {
	if over {
		return b.store.RemoveBelow(ctx, store.Part, run.ID)
	}
	return b.store.RemoveBelow(ctx, store.Part, run.run())
}

// run names the present run of a task.
func (t *Task) run() string { return fmt.Sprintf("%s/%d", t.ID, t.Round) }
