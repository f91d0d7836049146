package registry

import (
	"context"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/folder"
)

// firstWait limits how long New waits for files that are being written or have to be run.
const firstWait = 3 * time.Second

// watchFolders starts watching, and waits for the first scan.
func (r *Registry) watchFolders(ctx context.Context) {
	if r.opts.Dir == "" && !r.anySource() {
		return
	}
	r.startFolder()
	wait, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	r.Ready(wait)
	r.mu.Lock()
	r.keeper.soon = true
	r.mu.Unlock()
}

// startFolder starts the watcher unless it is running, and triggers a scan.
func (r *Registry) startFolder() {
	r.mu.Lock()
	if r.folder == nil && !r.closed {
		r.folder = folder.New(r.stop, folder.Options{Dir: r.opts.Dir, Files: watched{r}, Go: r.work.Go, Logger: r.log})
		r.work.Go(r.folder.Run)
	}
	r.mu.Unlock()
	r.touch("")
}

// anySource reports whether a file outside the folder is configured.
func (r *Registry) anySource() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.configs {
		if c.Source != "" {
			return true
		}
	}
	return false
}

// touch triggers a scan of a path, or of all if it is empty. It does not wait.
func (r *Registry) touch(path string) {
	r.mu.Lock()
	f := r.folder
	if known := r.files[path]; known != nil {
		known.stamp = fileid.Stamp{} // force a read
	}
	r.mu.Unlock()
	if f != nil {
		f.Touch(path)
	}
}

// Ready waits until no file is being loaded: every plugin is in the catalog or reported.
func (r *Registry) Ready(ctx context.Context) error {
	r.mu.Lock()
	f := r.folder
	r.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.Ready(ctx)
}

// watched adapts the registry to folder.Files.
type watched struct{ r *Registry }

var _ folder.Files = watched{}

// Sources returns the files outside the folder that configurations, manifests and stored copies need; false for a
// disabled plugin's, which is not read.
func (w watched) Sources() map[string]bool {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	sources := map[string]bool{}
	for _, c := range w.r.configs {
		if path := w.r.sourcePath(c); path != "" {
			sources[path] = sources[path] || !c.Disabled
		}
	}
	for path := range w.r.kept {
		sources[path] = true
	}
	for _, f := range w.r.files {
		if f.extism != nil && f.extism.Err == nil {
			sources[f.extism.Module] = true
		}
	}
	return sources
}

// Stamps returns the stamps of all files read.
func (w watched) Stamps() map[string]fileid.Stamp {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	stamps := make(map[string]fileid.Stamp, len(w.r.files))
	for path, f := range w.r.files {
		stamps[path] = f.stamp
	}
	return stamps
}

// Stamp returns the stamp of one file.
func (w watched) Stamp(path string) (fileid.Stamp, bool) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	f := w.r.files[path]
	if f == nil {
		return fileid.Stamp{}, false
	}
	return f.stamp, true
}

// Found records a file at once: the choice among several files of a name, and the owner of a module, must not depend on
// the order of reading.
func (w watched) Found(path string) { w.r.beginLoad(path) }

// Begin records that a file is being loaded and returns the function that loads it.
func (w watched) Begin(path string) func(context.Context) folder.Result {
	before := w.r.beginLoad(path)
	return func(ctx context.Context) folder.Result {
		l := w.r.load(ctx, path, before)
		return folder.Result{Stamp: l.stamp, Err: l.err, Apply: func() { w.r.apply(l) }, Discard: l.discard}
	}
}

// Remove forgets a file.
func (w watched) Remove(path string) { w.r.remove(path) }

// Show updates the catalog.
func (w watched) Show() { w.r.assemble() }

// Idle writes the cache for the next start.
func (w watched) Idle() { w.r.cache.Flush() }
