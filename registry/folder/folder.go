// Package folder watches the plugin files of one folder (.wasm, .json, .skill and .prompt.md) and single files
// elsewhere. It decides when a file has stopped changing and is to be loaded; its owner loads it.
package folder

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
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
	ctx        context.Context
	newWatcher func() (*fsnotify.Watcher, error)
	dirty      chan string   // paths that may have changed
	rescan     chan struct{} // one token: any path may have changed
	results    chan looked
	slots      chan struct{} // one token for each file being loaded

	// Owned by Run's goroutine:
	system  *fsnotify.Watcher // nil: poll only
	pending map[string]*pending
	stale   bool // Show is due

	mu    sync.Mutex
	open  int           // pending files and requests
	quiet chan struct{} // closed while open is zero
	still int           // of open, those that are still being written
	done  chan struct{} // closed while open equals still
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
	f := &Watcher{
		Options: o, ctx: ctx, newWatcher: fsnotify.NewWatcher,
		dirty: make(chan string, 64), rescan: make(chan struct{}, 1), results: make(chan looked, 64),
		slots:   make(chan struct{}, max(8, 2*runtime.GOMAXPROCS(0))),
		pending: map[string]*pending{}, quiet: make(chan struct{}), done: make(chan struct{}),
	}
	close(f.quiet)
	close(f.done)
	return f
}

// Touch triggers a check of a path, or a scan if it is empty. It does not wait, but Ready includes it from now on. A
// path with an unchanged stamp is not loaded. A scan request never blocks, so Show may make one.
func (f *Watcher) Touch(path string) {
	f.busy(1)
	if path == "" {
		select {
		case f.rescan <- struct{}{}:
		default:
			f.busy(-1) // already requested
		}
		return
	}
	select {
	case f.dirty <- path:
	case <-f.ctx.Done():
		f.busy(-1)
	}
}

// Ready waits until no file is pending.
func (f *Watcher) Ready(ctx context.Context) error {
	return f.await(ctx, func() chan struct{} { return f.quiet })
}

// Looked waits until every file was loaded, except those that are being written.
func (f *Watcher) Looked(ctx context.Context) error {
	return f.await(ctx, func() chan struct{} { return f.done })
}

// await waits until a channel of f is closed and has not been replaced by a new one.
func (f *Watcher) await(ctx context.Context, of func() chan struct{}) error {
	now := func() chan struct{} {
		f.mu.Lock()
		defer f.mu.Unlock()
		return of()
	}
	for {
		closed := now()
		select {
		case <-closed:
		default: // ctx matters only if there is something to wait for
			select {
			case <-closed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if closed == now() {
			return nil
		}
	}
}

// busy adds to the pending count; Ready waits until it is zero.
func (f *Watcher) busy(n int) { f.count(n, 0) }

// count adds to the pending count and to the part of it that is being written.
func (f *Watcher) count(open, still int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	openBefore, workBefore := f.open, f.open-f.still
	f.open, f.still = f.open+open, f.still+still
	f.quiet = turned(f.quiet, openBefore, f.open)
	f.done = turned(f.done, workBefore, f.open-f.still)
}

// turned returns a channel that is closed while a count is zero.
func turned(c chan struct{}, before, now int) chan struct{} {
	switch {
	case before == 0 && now > 0:
		return make(chan struct{})
	case before > 0 && now == 0:
		close(c)
	}
	return c
}

// Run watches until the context is done; the first Touch("") starts the loading. It is called once. Only its goroutine
// decides when a file is loaded.
func (f *Watcher) Run() {
	events, errs := f.watchSystem()
	defer f.closeSystem()
	poll := time.NewTicker(f.pollEvery())
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
			f.busy(-1)
		case path := <-f.dirty:
			f.mark(path)
			f.busy(-1)
		case e := <-events:
			f.event(e)
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
