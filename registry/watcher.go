package registry

import (
	"context"
	"log/slog"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/folder"
)

// watcher keeps the inputs up to date with the plugin folder and the files that settings and manifests name.
type watcher struct {
	inputs *inputs
	loader *loader
	ahead  *ahead
	life   *lifecycle
	log    *slog.Logger
	show   func() // publishes the recorded changes

	mu     sync.Mutex
	closed bool
	folder *folder.Watcher // nil: nothing is watched
}

// start watches, unless it does already, and triggers a scan.
func (w *watcher) start() {
	w.mu.Lock()
	if w.folder == nil && !w.closed {
		w.folder = folder.New(w.life.stop, folder.Options{Dir: w.inputs.folders.dir, Files: watched{w}, Go: w.life.work.Go, Logger: w.log})
		w.life.work.Go(w.folder.Run)
	}
	w.mu.Unlock()
	w.touch("")
}

// close prevents a later start.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// running returns the folder's watcher; nil if nothing is watched.
func (w *watcher) running() *folder.Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.folder
}

// touch triggers a scan of a path, or of all if it is empty. It does not wait.
func (w *watcher) touch(path string) {
	w.inputs.forceRead(path)
	if f := w.running(); f != nil {
		f.Touch(path)
	}
}

// ready waits until no file is being loaded.
func (w *watcher) ready(ctx context.Context) error {
	if f := w.running(); f != nil {
		return f.Ready(ctx)
	}
	return nil
}

// apply stores the result of loading a file and queues its module for compilation. The catalog does not show it yet.
func (w *watcher) apply(l loaded) {
	if w.inputs.apply(l) && l.fresh {
		w.ahead.add(l.module)
	}
}

// watched is the record of files that a folder.Watcher keeps.
type watched struct{ *watcher }

var _ folder.Files = watched{}

// Sources returns the files outside the folder.
func (w watched) Sources() map[string]bool { return w.inputs.sources() }

// Stamps returns the stamps of all files read.
func (w watched) Stamps() map[string]fileid.Stamp { return w.inputs.stamps() }

// Stamp returns the stamp of one file.
func (w watched) Stamp(path string) (fileid.Stamp, bool) { return w.inputs.stamp(path) }

// Found records a file at once: the choice among several files of a name, and the owner of a module, must not depend on
// the order of reading.
func (w watched) Found(path string) { w.inputs.begin(path) }

// Begin records that a file is being loaded and returns the function that loads it.
func (w watched) Begin(path string) func(context.Context) folder.Result {
	before := w.inputs.begin(path)
	return func(ctx context.Context) folder.Result {
		l := w.loader.load(ctx, path, before)
		if l.extism != nil && l.extism.Err == nil && w.inputs.expect(path, l.extism) {
			w.running().Touch("")
		}
		return folder.Result{Stamp: l.stamp, Err: l.err, Apply: func() { w.apply(l) }, Discard: l.discard}
	}
}

// Remove forgets a file.
func (w watched) Remove(path string) { w.inputs.remove(path) }

// Show updates the catalog.
func (w watched) Show() { w.show() }

// Idle writes the cache for the next start.
func (w watched) Idle() { w.loader.Cache.Flush() }
