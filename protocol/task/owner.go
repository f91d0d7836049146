package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Take makes this process the owner of the task, at its last question; the owner of a kept task does not change.
// Call it within Change.
func (b *Book) Take(t *Task) {
	if t.Status = Working; !t.Kept {
		t.Owner = b.owner
	}
	t.Round, t.Tries = t.Round+1, 0
}

// Owner returns the name of this process.
func (b *Book) Owner() string { return b.owner }

// Ready registers this process as alive with the store. Call it before Take.
func (b *Book) Ready() error {
	if b.store == nil {
		return nil
	}
	return b.store.Hold(b.owner)
}

// mine reports whether this process runs the task.
func (b *Book) mine(t *Task) bool { return t.lives() && t.Owner == b.owner }

// Keeps reports whether an active task of this process is in the store.
func (b *Book) Keeps(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	return t != nil && t.Durable()
}

// runs reports whether the run that began with the state of t is the task's current one, as far as this process knows.
func (b *Book) runs(t *Task) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.tasks[t.ID]
	return now != nil && b.mine(now) && now.sameRun(t)
}

// Running returns the IDs of the stored tasks that this process runs.
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

// orphans returns the stored running tasks without a live process, with ID and Principal only.
func (b *Book) orphans(ctx context.Context) (orphans []Task, err error) {
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
			orphans = append(orphans, Task{Spec: Spec{ID: r.ID, Principal: r.Principal}})
		}
	}
	return orphans, err
}

// orphan reports whether a running task has lost its process.
func (b *Book) orphan(t *Task) bool {
	return t.lives() && t.Owner != b.owner && b.store != nil && b.store.Gone(t.Owner)
}

// Adopt makes this process the owner of an orphan if may allows it. ours is false if another process was first, or
// if the task failed, because it ended too many processes or cannot be replayed.
func (b *Book) Adopt(ctx context.Context, orphan Task, may func(*Task) bool) (t Task, ours bool, err error) {
	if err := b.Ready(); err != nil {
		return Task{}, false, err
	}
	t, err = b.Change(ctx, orphan.Principal, orphan.ID, func(t *Task) {
		if ours = b.orphan(t) && (t.Kept || may(t)); !ours {
			return
		}
		if t.Owner, t.Tries = b.owner, t.Tries+1; t.Kept {
			ours = false
			t.lose()
			return
		}
		if ours = t.Tries <= maxTries; !ours {
			t.Status, t.Message = Failed, fmt.Sprintf("%d hosts in turn have gone while they ran this task", maxTries)
			t.Error = []byte(`{"code":-32603,"message":"the hosts that ran this task have gone again and again","data":{"kind":"unavailable"}}`)
		}
	})
	return t, ours && err == nil && b.mine(&t), err // false if another process has adopted and finished it meanwhile
}

// doubt is that about one task.
type doubt struct {
	principal string
	until     time.Time
}

// doubtLasts is longer than the life of a transaction that was cut off, which may still be committed.
const doubtLasts = 2 * time.Minute

// doubt notes a change by which this process may have become the owner of a task, which runs after Settle at the earliest.
func (b *Book) doubt(t *Task, err error) {
	if errors.Is(err, store.ErrUnknown) && b.mine(t) && (!t.Kept || !t.Durable()) {
		b.doubts[t.ID] = doubt{t.Principal, b.now().Add(doubtLasts)}
		b.stir()
	}
}

// Settle finds out the outcomes that were not known. Tasks that were opened fail, since their clients were told that they
// do not begin. It returns those that were answered or adopted, which go on.
func (b *Book) Settle(ctx context.Context) (ours []Task, err error) {
	b.mu.Lock()
	doubts := maps.Clone(b.doubts)
	b.mu.Unlock()
	for id, d := range doubts {
		goesOn := false
		t, err := b.Change(ctx, d.principal, id, func(t *Task) {
			goesOn = false
			if _, open := b.doubts[id]; !open || !b.mine(t) {
				return
			}
			if t.Round > 0 || t.Tries > 0 {
				t.Tries, goesOn = t.Tries+1, true
				return
			}
			t.fail("the database was lost when this task was opened, so it has not begun: it may be called again")
		})
		switch {
		case goesOn && err == nil:
			ours = append(ours, t)
		case err != nil && !errors.Is(err, ErrUnknown):
			return ours, err
		case d.until.Before(b.now()):
			b.mu.Lock()
			if b.doubts[id] == d {
				delete(b.doubts, id)
			}
			b.mu.Unlock()
		}
	}
	return ours, nil
}

// lose fails a kept task after the loss of its process. Call it within Change.
func (t *Task) lose() {
	t.fail("the host ended while this task ran, and its plugin's memory with it, " +
		"which cannot be replayed: earlier effects of the task remain, and it may be called again")
}

// fail ends a task that its client may call again.
func (t *Task) fail(reason string) {
	t.Status, t.Message = Failed, reason
	t.Error = append(jsonraw.AppendString([]byte(`{"code":-32603,"message":`), reason), `,"data":{"kind":"unavailable","retryable":true}}`...)
}
