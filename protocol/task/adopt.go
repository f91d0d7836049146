package task

import (
	"context"
	"errors"
	"time"
)

const (
	// watchEvery is the interval of checks for tasks cancelled by other processes.
	watchEvery = time.Second
	// adoptEvery is the interval of searches for orphans, in addition to the one at start.
	adoptEvery = 30 * time.Second
)

// watch adopts orphans, and stops tasks that were cancelled by other processes.
func (r *Runner) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for next := r.o.Now(); ; {
		if now := r.o.Now(); r.news.Swap(false) || !now.Before(next) {
			next = now.Add(adoptEvery)
			r.adoptAll()
		}
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return
		}
		r.look()
		if err := r.Book.Look(r.ctx); err != nil && r.ctx.Err() == nil {
			r.o.Log.Warn("tasks that are watched cannot be looked at", "error", err)
		}
	}
}

// look stops the runs of tasks no longer owned by this process.
func (r *Runner) look() {
	r.mu.Lock()
	here := make([]string, 0, len(r.running))
	for id := range r.running {
		here = append(here, id)
	}
	r.mu.Unlock()
	if len(here) == 0 {
		return
	}
	running, err := r.Book.Running(r.ctx)
	if err != nil {
		return // retried by the next look
	}
	for _, id := range here {
		if !running[id] && r.Book.Keeps(id) {
			r.cancel(id)
		}
	}
}

// News triggers a search for orphans, after new tools were added.
func (r *Runner) News() { r.news.Store(true) }

func (r *Runner) adoptAll() {
	orphans, err := r.Book.Orphans(r.ctx)
	if err != nil && r.ctx.Err() == nil {
		r.o.Log.Warn("tasks that were interrupted cannot be looked for", "error", err)
	}
	for _, t := range orphans {
		r.adopt(r.ctx, t, false)
	}
}

// adopt continues an orphan unless another process does or this one may not. asked reports whether its client
// requests it now.
func (r *Runner) adopt(ctx context.Context, orphan Task, asked bool) {
	t, ours, err := r.Book.Adopt(ctx, orphan, func(t *Task) bool { return r.may(t, asked) })
	switch {
	case err != nil && !errors.Is(err, ErrUnknown) && ctx.Err() == nil:
		r.o.Log.Warn("a task that was interrupted cannot be taken over", "task", orphan.ID, "error", err)
	case ours:
		r.o.Log.Info("goes on with a task of a host that has gone", "task", t.ID, "try", t.Tries)
		r.start(t)
	}
}

// may reports whether this process may run a task.
func (r *Runner) may(t *Task, asked bool) bool { return r.o.May == nil || r.o.May(t, asked) }
