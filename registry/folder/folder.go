// Package folder watches where plugins come from: every .wasm, .json, .skill and .prompt.md file of one folder,
// and single files elsewhere. It decides when a file is looked at, once it has stopped changing; the looking is done
// by its owner.
package folder

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/sallyport-mcp/sallyport/registry/stamp"
)

const (
	// pollTime is how often the folders are read where the system tells of no changes.
	pollTime = time.Second
	// slowPollTime is how often they are read where it does: network file systems and replaced
	// folders tell of nothing.
	slowPollTime = 15 * time.Second
	// maxFiles bounds the plugin files of all folders together.
	maxFiles = 10000
)

// Files is what a Watcher keeps up to date: what its owner knows of each file. The Watcher calls its
// methods from one goroutine.
type Files interface {
	// Sources returns the single files that are wanted, whatever their folder. A file with the value
	// false may stay, but is not looked for.
	Sources() map[string]bool
	// Stamps returns the files that are known, with the stamp of the bytes that were looked at last.
	Stamps() map[string]stamp.Stamp
	// Stamp is one of Stamps.
	Stamp(path string) (stamp.Stamp, bool)
	// Found notes that a file is there, which may have to settle before it is looked at.
	Found(path string)
	// Begin notes that a file is being looked at. What it returns does so, in a goroutine of its own.
	Begin(path string) func(ctx context.Context) Result
	// Remove takes out a file that is not there any more.
	Remove(path string)
	// Show is called after one or more of these: what was noted is to be seen from now on.
	Show()
	// Idle is called when no file waits to be looked at.
	Idle()
}

// Result is what came of looking at a file. Either Apply or Discard is called, unless Err is
// stamp.ErrUnsettled: then the file is looked at again.
type Result struct {
	Stamp   stamp.Stamp
	Err     error
	Apply   func() // called from the Watcher's goroutine
	Discard func() // the Watcher has ended
}

// Options configure a Watcher.
type Options struct {
	Dir    string       // the folder; "" is none. It need not exist.
	Files  Files        // what is kept up to date
	Go     func(func()) // runs a function in a goroutine that the owner waits for
	Logger *slog.Logger
}

// Watcher watches until its context is done. It is safe for concurrent use.
type Watcher struct {
	Options
	ctx        context.Context
	newWatcher func() (*fsnotify.Watcher, error)
	dirty      chan string   // paths that may have changed
	rescan     chan struct{} // one token: all may have changed
	results    chan looked
	slots      chan struct{} // one token for each file that is being looked at

	// Of Run's goroutine:
	system  *fsnotify.Watcher // nil: poll only
	pending map[string]*pending
	stale   bool // Show is due

	mu    sync.Mutex
	open  int           // how many files are to be looked at
	quiet chan struct{} // closed while that is none
	still int           // of open, those that are still being written
	done  chan struct{} // closed while there are no others
}

// pending is a file that may have changed.
type pending struct {
	seen  stamp.Stamp
	since time.Time // when seen was first seen; zero: not yet
	busy  bool      // being looked at
	still bool      // not quiet yet
	again bool      // changed meanwhile
}

type looked struct {
	path string
	Result
}

// New returns a Watcher that has yet to Run. It ends when ctx is done.
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

// Touch has a path looked at, or all if it is empty. It does not wait for that, but Ready does from
// now on. A path whose stamp is what is known of it is left alone. To touch all never blocks, so that
// Show may do it.
func (f *Watcher) Touch(path string) {
	f.busy(1)
	if path == "" {
		select {
		case f.rescan <- struct{}{}:
		default:
			f.busy(-1) // it is to be done already
		}
		return
	}
	select {
	case f.dirty <- path:
	case <-f.ctx.Done():
		f.busy(-1)
	}
}

// Ready waits until no file waits to be looked at.
func (f *Watcher) Ready(ctx context.Context) error {
	return f.await(ctx, func() chan struct{} { return f.quiet })
}

// Looked waits until every file was looked at that is not being written just then.
func (f *Watcher) Looked(ctx context.Context) error {
	return f.await(ctx, func() chan struct{} { return f.done })
}

// await waits until a channel of f's is closed, and not another one in its place.
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
		default: // only then the end of ctx counts
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

// busy counts what is still to be looked at; Ready waits for none.
func (f *Watcher) busy(n int) { f.count(n, 0) }

// count adds to what is to be looked at, and to what of it is being written.
func (f *Watcher) count(open, still int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	openBefore, workBefore := f.open, f.open-f.still
	f.open, f.still = f.open+open, f.still+still
	f.quiet = turned(f.quiet, openBefore, f.open)
	f.done = turned(f.done, workBefore, f.open-f.still)
}

// turned is a channel that is closed while a count is zero.
func turned(c chan struct{}, before, now int) chan struct{} {
	switch {
	case before == 0 && now > 0:
		return make(chan struct{})
	case before > 0 && now == 0:
		close(c)
	}
	return c
}

// Run watches until the context is done; the first Touch of all begins it. It is called once, and its
// goroutine alone decides when a file is looked at.
func (f *Watcher) Run() {
	events, errs := f.watchSystem()
	defer f.closeSystem()
	poll := time.NewTicker(f.pollEvery())
	defer poll.Stop()
	tick := time.NewTicker(stamp.SettleTime / 4)
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
