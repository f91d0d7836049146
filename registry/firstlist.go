package registry

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/folder"
)

// firstListTime limits how long after the start lists wait for plugins that are being compiled: most clients time out
// after a minute.
const firstListTime = 45 * time.Second

// logAfter is how long a list waits before that is logged.
const logAfter = 100 * time.Millisecond

// firstList delays the lists of a starting registry until its plugins are known.
type firstList struct {
	log      *slog.Logger
	stop     context.Context // done when the registry closes
	began    time.Time
	limit    time.Duration // since began
	complete atomic.Bool   // lists need not wait any more
	once     sync.Once     // for the log
	answer   sync.Once     // closes answered
	answered chan struct{} // closed when the first list need not wait any more
}

// wait waits until the folder's files were loaded, and the approved bytes that fetched waits for. loading names the plugins
// that are not, for the log.
func (l *firstList) wait(ctx context.Context, f *folder.Watcher, loading func() string, fetched func(context.Context) bool) {
	wait, cancel := context.WithDeadline(ctx, l.began.Add(l.limit))
	defer cancel()
	quick, stop := context.WithTimeout(wait, logAfter)
	defer stop()
	if f.Looked(quick) != nil && wait.Err() == nil {
		l.once.Do(func() {
			l.log.Warn("the first list waits for plugins that are being compiled, which sallyport compile does beforehand",
				"plugins", loading(), "longest", l.limit)
		})
	}
	err := f.Looked(wait)
	if err == nil && fetched(wait) {
		err = f.Ready(wait) // their copies are new files
	}
	if ctx.Err() != nil || l.stop.Err() != nil {
		return // the caller is gone
	}
	if !l.complete.Swap(true) && err != nil {
		l.log.Warn("lists are answered without plugins that are still being compiled: clients that listen are told when they are there",
			"plugins", loading(), "after", l.limit)
	}
}

// IsComplete reports whether lists need not wait any more, see AwaitComplete.
func (r *Registry) IsComplete() bool { return r.first.complete.Load() }

// AwaitComplete waits until every plugin that existed when the registry was made is listed or reported: some must be compiled
// to learn their manifest, and a client that lists once should see them all. The wait is limited to firstListTime, which
// the log reports, and excludes files that are being written. After it has waited once, it returns at once.
func (r *Registry) AwaitComplete(ctx context.Context) {
	if r.IsComplete() {
		return
	}
	defer r.first.answer.Do(func() { close(r.first.answered) })
	f := r.watcher.running()
	if f == nil || r.given != nil {
		r.first.complete.Store(true)
		return
	}
	r.first.wait(ctx, f, r.public.loading, r.keeper.fetched)
}
