package registry

import (
	"context"
	"strings"
	"time"
)

// firstList is how long after the start lists wait for plugins that are being compiled: most clients give a request a
// minute.
const firstList = 45 * time.Second

// IsWhole reports whether lists need not wait any more: see Whole.
func (r *Registry) IsWhole() bool { return r.whole.Load() }

// Whole waits until every plugin is listed, or reported, that was there when the registry was made: some have to be
// compiled to know what they offer, and a client that asks once is to see them all. It waits within a bound, which the log
// names, and for no file that is being written. Once it has waited, it never does again.
func (r *Registry) Whole(ctx context.Context) {
	if r.whole.Load() {
		return
	}
	r.mu.Lock()
	f := r.folder
	r.mu.Unlock()
	if f == nil || r.opts.Files != nil {
		r.whole.Store(true)
		return
	}
	wait, cancel := context.WithDeadline(ctx, r.began.Add(r.firstList))
	defer cancel()
	quick, stop := context.WithTimeout(wait, sayAfter)
	defer stop()
	if f.Looked(quick) != nil && wait.Err() == nil {
		r.sayOnce.Do(func() {
			r.log.Warn("the first list waits for plugins that are being compiled, which sallyport compile does beforehand",
				"plugins", r.loading(), "longest", r.firstList)
		})
	}
	err := f.Looked(wait)
	if ctx.Err() != nil || r.stop.Err() != nil {
		return // who asked has gone
	}
	if !r.whole.Swap(true) && err != nil {
		r.log.Warn("lists are answered without plugins that are still being compiled: clients that listen are told when they are there",
			"plugins", r.loading(), "after", r.firstList)
	}
}

// sayAfter is how long a list waits before the log says so.
const sayAfter = 100 * time.Millisecond

// loading names the plugins that are still being loaded.
func (r *Registry) loading() string {
	var all []string
	for _, s := range r.Plugins() {
		if s.State == StateLoading {
			all = append(all, s.Name)
		}
	}
	return strings.Join(all, " ")
}
