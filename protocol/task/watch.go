package task

import (
	"context"
	"errors"
	"time"
)

// watchers are the observers of tasks, by task.
type watchers map[string]map[*watcher]struct{}

// watcher is one observer of a task.
type watcher struct {
	told    stage
	tell    func(Task)
	gone    func()    // nil for none
	expires time.Time // of the task
}

// stage is the reported part of a task. Adoption or a partial answer do not change it.
type stage struct {
	status Status
	round  int
}

func (t *Task) stage() stage { return stage{t.Status, t.Round} }

func (all watchers) add(id string, w *watcher) {
	if all[id] == nil {
		all[id] = map[*watcher]struct{}{}
	}
	all[id][w] = struct{}{}
}

func (all watchers) remove(id string, w *watcher) {
	delete(all[id], w)
	if len(all[id]) == 0 {
		delete(all, id)
	}
}

// tell reports the task to its watchers, which end with it.
func (all watchers) tell(t *Task) {
	for w := range all[t.ID] {
		if now := t.stage(); now != w.told {
			w.told = now
			w.tell(*t)
		}
		if t.Status.Over() {
			all.remove(t.ID, w)
		}
	}
}

// lose ends the watches of a task that has expired.
func (all watchers) lose(id string) {
	for w := range all[id] {
		if w.gone != nil {
			w.gone()
		}
	}
	delete(all, id)
}

// expire ends the watches of all tasks that have expired.
func (all watchers) expire(now time.Time) {
	for id, of := range all {
		for w := range of {
			if w.expires.Before(now) {
				all.lose(id)
				break
			}
		}
	}
}

// Watch calls tell at each status change of the task, and immediately if the task is past its initial status. It
// ends with the task or with stop, which is idempotent. If the task expires before its end, gone is called instead,
// unless it is nil. Changes by other processes are reported by Look. tell and gone must not block or use the Book.
func (b *Book) Watch(ctx context.Context, principal, id string, tell func(Task), gone func()) (stop func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.get(ctx, principal, id)
	if err != nil {
		return nil, err
	}
	w := &watcher{told: stage{status: Working}, tell: tell, gone: gone, expires: t.Expires()}
	b.watchers.add(id, w)
	b.watchers.tell(&t)
	b.stir()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watchers.remove(id, w)
	}, nil
}

// attends reports whether Look or Settle have anything to do.
func (b *Book) attends() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.watchers) > 0 || len(b.doubts) > 0
}

// stir tells the runner that it may have become busy.
func (b *Book) stir() {
	select {
	case b.stirred <- struct{}{}:
	default: // it was not received yet
	}
}

// Look reports changes of watched tasks by other processes, and the expiry of watched tasks. Without writes since the
// last call, it only reads the store version.
func (b *Book) Look(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers.expire(b.now())
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
			b.watchers.tell(&t)
		case errors.Is(err, ErrUnknown): // expired
			b.watchers.lose(id)
		default:
			return err
		}
	}
	b.looked = version
	return nil
}
