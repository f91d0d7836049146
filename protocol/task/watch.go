package task

import (
	"context"
	"errors"
)

// watcher is somebody who wants to hear how a task comes on.
type watcher struct {
	told stage
	tell func(Task)
}

// stage is what a watcher is told of: a task that is adopted, or given one of several answers, stands as it did.
type stage struct {
	status Status
	round  int
}

func (t *Task) stage() stage { return stage{t.Status, t.Round} }

// Watch calls tell with the task each time that its status has changed, and at once if it is not that of a new
// one any more. It ends when the task is over, or with stop, which may be called again. A change by another
// process is found by Look. tell must neither wait nor use the Book.
func (b *Book) Watch(ctx context.Context, principal, id string, tell func(Task)) (stop func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.get(ctx, principal, id)
	if err != nil {
		return nil, err
	}
	w := &watcher{told: stage{status: Working}, tell: tell}
	if b.watchers[id] == nil {
		b.watchers[id] = map[*watcher]struct{}{}
	}
	b.watchers[id][w] = struct{}{}
	b.tell(&t)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.unwatch(id, w)
	}, nil
}

func (b *Book) unwatch(id string, w *watcher) {
	delete(b.watchers[id], w)
	if len(b.watchers[id]) == 0 {
		delete(b.watchers, id)
	}
}

// tell tells those who watch a task of how it stands now. b.mu is held.
func (b *Book) tell(t *Task) {
	for w := range b.watchers[t.ID] {
		if now := t.stage(); now != w.told {
			w.told = now
			w.tell(*t)
		}
		if t.Status.Over() {
			b.unwatch(t.ID, w)
		}
	}
}

// Look finds out what other processes did to the tasks that are watched. It reads one number where nobody wrote
// anything since the last look.
func (b *Book) Look(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store == nil || len(b.watchers) == 0 {
		return nil
	}
	version, err := b.store.Version(ctx)
	if err != nil || version == b.looked {
		return err
	}
	for id := range b.watchers {
		t, err := b.load(ctx, id)
		switch {
		case err == nil:
			b.tell(&t)
		case errors.Is(err, ErrUnknown): // its time is over
			delete(b.watchers, id)
		default:
			return err
		}
	}
	b.looked = version
	return nil
}
