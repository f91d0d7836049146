package registry

import (
	"context"
	"strings"
	"time"
)

// firstList limits how long after the start lists wait for plugins that are being compiled: most clients time out after
// a minute.
const firstList = 45 * time.Second

// IsWhole reports whether lists need not wait any more, see Whole.
func (r *Registry) IsWhole() bool { return r.whole.Load() }

// Whole waits until every plugin that existed when the registry was made is listed or reported: some must be compiled
// to learn their manifest, and a client that lists once should see them all. The wait is limited to firstList, which
// the log reports, and excludes files that are being written. After it has waited once, it returns at once.
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
		return // the caller is gone
	}
	if !r.whole.Swap(true) && err != nil {
		r.log.Warn("lists are answered without plugins that are still being compiled: clients that listen are told when they are there",
			"plugins", r.loading(), "after", r.firstList)
	}
}

// sayAfter is how long a list waits before that is logged.
const sayAfter = 100 * time.Millisecond

// loading returns the names of the plugins that are being loaded.
func (r *Registry) loading() string {
	var all []string
	for _, s := range r.Plugins() {
		if s.State == StateLoading {
			all = append(all, s.Name)
		}
	}
	return strings.Join(all, " ")
}
