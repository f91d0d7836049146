// Package folder watches the plugin files of one folder (.wasm, .ts, .js, .py, .json, .skill and .prompt.md) and single files
// elsewhere. It decides when a file has stopped changing and is to be loaded; its owner loads it. Follow tells when a file of
// another kind may have changed.
package folder

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

const (
	// pollTime is the interval of scans without file system notifications.
	pollTime = time.Second
	// slowPollTime is the interval of scans with notifications: network file systems and replaced folders send none.
	slowPollTime = 15 * time.Second
	// maxFiles limits the plugin files read from one folder.
	maxFiles = 10000
)

// Files is the owner's record of its files, which a Watcher keeps up to date. The Watcher calls its methods from one
// goroutine.
type Files interface {
	// Sources returns the single files to load, in any folder. A file with the value false is kept if it is known, but
	// not searched for.
	Sources() map[string]bool
	// Stamps returns the known files, with the stamp of the bytes loaded last.
	Stamps() map[string]fileid.Stamp
	// Stamp returns the stamp of one known file.
	Stamp(path string) (fileid.Stamp, bool)
	// Found records that a file exists, which may have to settle before it is loaded.
	Found(path string)
	// Begin records that a file is being loaded. The returned function loads it, in a separate goroutine.
	Begin(path string) func(ctx context.Context) Result
	// Remove forgets a file that no longer exists.
	Remove(path string)
	// Show is called after one or more of these: it publishes the recorded changes.
	Show()
	// Idle is called when no file is pending.
	Idle()
}

// Result is the result of loading a file. Either Apply or Discard is called, unless Err is stamp.ErrUnsettled: then the
// file is loaded again later.
type Result struct {
	Stamp   fileid.Stamp
	Err     error
	Apply   func() // called from the Watcher's goroutine
	Discard func() // called if the Watcher has ended
}

// Options configures a Watcher.
type Options struct {
	Dir    string       // the folder; "" is none. It need not exist.
	Files  Files        // the owner's record
	Go     func(func()) // runs a function in a goroutine that the owner waits for
	Logger *slog.Logger
}

// Watcher watches until its context is done. It is safe for concurrent use.
type Watcher struct {
	Options
	ctx     context.Context
	now     func() time.Time
	dirty   chan string   // paths that may have changed
	rescan  chan struct{} // one token: any path may have changed
	results chan looked
	slots   chan struct{} // one token for each file being loaded
	work    *tally        // pending files and requests

	// Owned by Run's goroutine:
	events  events
	pending map[string]*pending
	stale   bool // Show is due
}

// pending is a file that may have changed.
type pending struct {
	seen  fileid.Stamp
	since time.Time // when seen was first seen; zero: not yet
	busy  bool      // being loaded
	still bool      // not settled yet
	again bool      // changed meanwhile
}

type looked struct {
	path string
	Result
}

// New returns a Watcher to Run. It ends when ctx is done.
func New(ctx context.Context, o Options) *Watcher {
	return &Watcher{
		Options: o, ctx: ctx, now: time.Now, work: newTally(), events: events{log: o.Logger, open: fsnotify.NewWatcher},
		dirty: make(chan string, 64), rescan: make(chan struct{}, 1), results: make(chan looked, 64),
		slots:   make(chan struct{}, max(8, 2*runtime.GOMAXPROCS(0))),
		pending: map[string]*pending{},
	}
}

// Touch triggers a check of a path, or a scan if it is empty. It does not wait, but Ready includes it from now on. A
// path with an unchanged stamp is not loaded. A scan request never blocks, so Show may make one.
func (f *Watcher) Touch(path string) {
	f.work.add(1, 0)
	if path == "" {
		select {
		case f.rescan <- struct{}{}:
		default:
			f.work.add(-1, 0) // already requested
		}
		return
	}
	select {
	case f.dirty <- path:
	case <-f.ctx.Done():
		f.work.add(-1, 0)
	}
}

// Ready waits until no file is pending.
func (f *Watcher) Ready(ctx context.Context) error {
	return f.work.await(ctx, func(t *tally) chan struct{} { return t.quiet })
}

// Looked waits until every file was loaded, except those that are being written.
func (f *Watcher) Looked(ctx context.Context) error {
	return f.work.await(ctx, func(t *tally) chan struct{} { return t.done })
}

// Run watches until the context is done; the first Touch("") starts the loading. It is called once. Only its goroutine
// decides when a file is loaded.
func (f *Watcher) Run() {
	events, errs := f.events.start()
	defer f.events.close()
	poll := time.NewTicker(f.events.pollEvery())
	defer poll.Stop()
	tick := time.NewTicker(fileid.SettleTime / 4)
	defer tick.Stop()
	for {
		var ticks <-chan time.Time
		if len(f.pending) > 0 || f.stale {
			ticks = tick.C
		}
		select {
		case <-f.ctx.Done():
			return
		case <-f.rescan:
			f.scan()
			f.work.add(-1, 0)
		case path := <-f.dirty:
			f.mark(path)
			f.work.add(-1, 0)
		case e := <-events:
			f.event(subject(e.Name))
		case err := <-errs:
			f.Logger.Warn("folder watch", "error", err)
			f.scan()
		case <-poll.C:
			f.scan()
		case l := <-f.results:
			f.finish(l)
		case <-ticks:
			f.due()
		}
	}
}
