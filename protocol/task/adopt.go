package task

import (
	"context"
	"errors"
	"maps"
	"time"
)

const (
	// watchEvery is the interval of checks for tasks changed by other processes, besides those at notices of the store,
	// while there are tasks to check.
	watchEvery = time.Second
	// noticePause is the time in which notices of the store count as one.
	noticePause = 20 * time.Millisecond
	// adoptEvery is the interval of searches for orphans, in addition to the one at start.
	adoptEvery = 30 * time.Second
)

// watch adopts orphans, and stops tasks that were cancelled by other processes.
func (r *Runner) watch() {
	wake, stop := r.o.Store.On()
	defer stop()
	var adopted, counted time.Time
	for current := false; ; { // whether no task has changed here since the last count
		busy := r.busy()
		now := r.o.Now()
		if now.Sub(counted) >= countEvery {
			counted, current = now, !busy
			_ = r.Book.count(r.ctx) // the numbers of before stay; Look reports the error
		}
		if r.news.Swap(false) || now.Sub(adopted) >= adoptEvery {
			adopted = now
			r.adoptAll()
		}
		current = current && !busy
		if !r.await(wake, current) {
			return
		}
		r.look()
		r.settle()
		if err := r.Book.Look(r.ctx); err != nil && r.ctx.Err() == nil {
			r.o.Log.Warn("tasks that are watched cannot be looked at", "error", err)
		}
	}
}

// await waits for the next look, and returns false when the runner closes. An idle process only searches for orphans.
func (r *Runner) await(wake <-chan struct{}, idle bool) bool {
	every := watchEvery
	if idle {
		every = adoptEvery
	}
	for tick := r.after(every); ; {
		select {
		case <-tick:
			return true
		case <-r.Book.stirred:
			switch {
			case r.news.Load():
				return true
			case idle && r.busy():
				idle, tick = false, r.after(watchEvery)
			}
		case <-wake: // nil without notices
			select {
			case <-r.after(noticePause):
				return true
			case <-r.ctx.Done():
				return false
			}
		case <-r.ctx.Done():
			return false
		}
	}
}

// busy reports whether other processes may change something that matters here.
func (r *Runner) busy() bool { return r.Running() > 0 || r.Book.attends() }

// look stops the runs of tasks no longer owned by this process.
func (r *Runner) look() {
	here := r.runs()
	if len(here) == 0 {
		return
	}
	if running, err := r.Book.Running(r.ctx); err == nil { // else the next look
		r.stopLost(here, running)
	}
}

// settle continues the tasks whose last change is known at last to have been stored.
func (r *Runner) settle() {
	ours, _ := r.Book.Settle(r.ctx) // an error is tried again at the next look
	for _, t := range ours {
		r.start(t)
	}
}

// runs returns the runs of this moment, by task.
func (r *Runner) runs() map[string]*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.running)
}

// stopLost stops the runs of here whose tasks this process did not run later, when running was read. It stops no later
// run of such a task, which may have asked and been answered meanwhile.
func (r *Runner) stopLost(here map[string]*run, running map[string]bool) {
	for id, run := range here {
		if !running[id] && r.Book.Keeps(id) {
			run.stop()
		}
	}
}

// News triggers a search for orphans, after new tools were added.
func (r *Runner) News() {
	r.news.Store(true)
	r.Book.stir()
}

func (r *Runner) adoptAll() {
	orphans, err := r.Book.orphans(r.ctx)
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
