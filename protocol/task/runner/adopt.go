package runner

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/task"
)

const (
	// watchEvery is how often the tasks that run here are looked at: somebody may have cancelled one elsewhere.
	watchEvery = time.Second
	// adoptEvery is how often tasks are looked for whose process has gone, beside the start.
	adoptEvery = 30 * time.Second
)

// watch adopts tasks whose process has gone, and ends those here that were cancelled elsewhere.
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

// look ends the runs of tasks that are not this process's any more.
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
		return // the next look
	}
	for _, id := range here {
		if !running[id] && r.Book.Keeps(id) {
			r.cancel(id)
		}
	}
}

// News has tasks looked for soon whose process has gone: there are tools that were not there before.
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

// adopt goes on with a task whose process has gone, unless another process does or this one may not. asked is that
// its client waits for it.
func (r *Runner) adopt(ctx context.Context, orphan task.Task, asked bool) {
	t, ours, err := r.Book.Adopt(ctx, orphan, func(t *task.Task) bool { return r.may(t, asked) })
	switch {
	case err != nil && !errors.Is(err, task.ErrUnknown) && ctx.Err() == nil:
		r.o.Log.Warn("a task that was interrupted cannot be taken over", "task", orphan.ID, "error", err)
	case ours:
		r.o.Log.Info("goes on with a task of a host that has gone", "task", t.ID, "try", t.Tries)
		r.start(t)
	}
}

// may reports whether a task is this process's to run.
func (r *Runner) may(t *task.Task, asked bool) bool { return r.o.May == nil || r.o.May(t, asked) }
