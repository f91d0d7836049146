package registry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
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
	// firstWait bounds how long New waits for files that are being written or have to be run.
	firstWait = 3 * time.Second
	// maxFiles bounds the plugin files of all folders together.
	maxFiles = 10000
)

// folder watches the folders that plugins come from. Its goroutine alone decides when a file is
// looked at; the looking is done by others.
type folder struct {
	r       *Registry
	watcher *fsnotify.Watcher // nil: poll only
	dirty   chan string       // paths that may have changed; "" is all
	results chan loaded
	slots   chan struct{} // one token for each file that is being looked at

	// Of the goroutine:
	pending map[string]*pending
	stale   bool // the catalogue does not show the newest results yet
}

// pending is a file that may have changed.
type pending struct {
	seen  stamp.Stamp
	since time.Time // when seen was first seen; zero: not yet
	busy  bool      // being looked at
	again bool      // changed meanwhile
}

// loaded is what came of looking at a file.
type loaded struct {
	path   string
	module *module
	fresh  bool // the module was made for this result, which owns it
	stamp  stamp.Stamp
	err    error
}

// discard gives a module back that nobody took.
func (l loaded) discard() {
	if l.fresh {
		l.module.release()
	}
}

// watchFolders starts watching, and waits for the first scan.
func (r *Registry) watchFolders(ctx context.Context) {
	if r.opts.Dir == "" && !r.anySource() {
		return
	}
	r.startFolder()
	wait, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	r.Ready(wait)
}

// startFolder begins to watch and asks for a scan.
func (r *Registry) startFolder() {
	f := &folder{
		r: r, dirty: make(chan string, 64), results: make(chan loaded, 64),
		slots: make(chan struct{}, max(8, 2*goruntime.GOMAXPROCS(0))), pending: map[string]*pending{},
	}
	watcher, err := r.newWatcher()
	if err != nil {
		r.log.Warn("folders are polled: the system cannot watch them", "error", err)
	} else {
		f.watcher = watcher
	}
	r.mu.Lock()
	start := r.folder == nil && !r.closed
	if start {
		r.folder = f
		r.work.Go(f.run)
	}
	r.mu.Unlock()
	if !start {
		f.close()
		return
	}
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

// touch has a path looked at, or all if it is empty. It does not wait for that.
func (r *Registry) touch(path string) {
	r.mu.Lock()
	f := r.folder
	if known := r.files[path]; known != nil {
		known.stamp = stamp.Stamp{} // whatever it seems, look at it
	}
	r.mu.Unlock()
	if f == nil {
		return
	}
	r.busy(1)
	select {
	case f.dirty <- path:
	case <-r.stop.Done():
		r.busy(-1)
	}
}

// busy counts what is still to be looked at; Ready waits for none.
func (r *Registry) busy(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.open
	r.open += n
	switch {
	case before == 0 && r.open > 0:
		r.quiet = make(chan struct{})
	case before > 0 && r.open == 0:
		close(r.quiet)
	}
}

// run is the goroutine of the folder.
func (f *folder) run() {
	poll := time.NewTicker(f.pollEvery())
	defer poll.Stop()
	tick := time.NewTicker(stamp.SettleTime / 4)
	defer tick.Stop()
	events, errs := f.channels()
	for {
		var ticks <-chan time.Time
		if len(f.pending) > 0 || f.stale {
			ticks = tick.C
		}
		select {
		case <-f.r.stop.Done():
			f.close()
			return
		case path := <-f.dirty:
			f.mark(path)
			f.r.busy(-1)
		case e := <-events:
			f.event(e)
		case err := <-errs:
			f.r.log.Warn("folder watch", "error", err)
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

func (f *folder) pollEvery() time.Duration {
	if f.watcher == nil {
		return pollTime
	}
	return slowPollTime
}

func (f *folder) channels() (<-chan fsnotify.Event, <-chan error) {
	if f.watcher == nil {
		return nil, nil
	}
	return f.watcher.Events, f.watcher.Errors
}

func (f *folder) close() {
	if f.watcher != nil {
		f.watcher.Close()
	}
}

// event notes what the system told about.
func (f *folder) event(e fsnotify.Event) {
	if f.wanted(e.Name) {
		f.mark(e.Name)
	}
}

// wanted reports whether a path is one that plugins are loaded from.
func (f *folder) wanted(path string) bool {
	if filepath.Dir(path) == f.r.opts.Dir && isPluginFile(filepath.Base(path)) {
		return true
	}
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	for _, c := range f.r.configs {
		if f.r.sourcePath(c) == path {
			return true
		}
	}
	return false
}

// mark notes that a path may have changed.
func (f *folder) mark(path string) {
	if path == "" {
		f.scan()
		return
	}
	if p := f.pending[path]; p != nil {
		p.again = true
		return
	}
	f.pending[path] = &pending{}
	f.r.busy(1)
	f.check(path, time.Now())
}

// scan marks every path whose stamp is not the one that was looked at last.
func (f *folder) scan() {
	here := f.list()
	f.r.mu.Lock()
	stamps := map[string]stamp.Stamp{}
	for path, known := range f.r.files {
		stamps[path] = known.stamp
	}
	f.r.mu.Unlock()
	for path := range here {
		st, err := stamp.Of(path)
		if known, ok := stamps[path]; !ok || err != nil || known != st {
			f.mark(path)
		}
		delete(stamps, path)
	}
	for path := range stamps {
		f.mark(path)
	}
}

// list returns the paths that plugins are to be loaded from, and has their folders watched.
func (f *folder) list() map[string]bool {
	here := map[string]bool{}
	folders := map[string]bool{}
	if dir := f.r.opts.Dir; dir != "" {
		folders[dir] = true
		for _, path := range pluginFiles(dir) {
			here[path] = true
		}
	}
	f.r.mu.Lock()
	for _, c := range f.r.configs {
		if path := f.r.sourcePath(c); path != "" && !c.Disabled {
			folders[filepath.Dir(path)] = true
			here[path] = true
		}
	}
	f.r.mu.Unlock()
	for dir := range folders {
		f.watch(dir)
	}
	return here
}

// watch has a folder watched; one that is not there will be found by polling.
func (f *folder) watch(dir string) {
	if f.watcher == nil {
		return
	}
	err := f.watcher.Add(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.r.log.Warn("folder is polled: the system cannot watch it", "folder", dir, "error", err)
	}
}

// pluginFiles lists the plugin files of a folder; links count as what they lead to.
func pluginFiles(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	var paths []string
	for len(paths) < maxFiles {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			if isPluginFile(name) {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
		if err != nil {
			break
		}
	}
	return paths
}

// due looks after everything that is pending, and brings the catalogue up to date.
func (f *folder) due() {
	now := time.Now()
	for path, p := range f.pending {
		if !p.busy {
			f.check(path, now)
		}
	}
	if f.stale {
		f.stale = false
		f.r.assemble()
	}
}

// check decides about one pending path: it is gone, or unchanged, or to be waited for, or to be
// looked at.
func (f *folder) check(path string, now time.Time) {
	p := f.pending[path]
	st, err := stamp.Of(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, stamp.ErrNotRegular) || err == nil && !f.wanted(path) {
		f.gone(path, p, now)
		return
	}
	if err != nil {
		f.drop(path, loaded{path: path, err: stamp.Plain(err)})
		return
	}
	if known, ok := f.stampOf(path); ok && known == st {
		f.forget(path)
		return
	}
	if p.since.IsZero() || p.seen != st {
		p.seen, p.since = st, now
	}
	if st.Quiet(p.since, now) < stamp.SettleTime {
		return
	}
	f.look(path, p)
}

// gone takes a file out that has been away for as long as a file must be there to be taken in: some
// programs replace a file by removing it first.
func (f *folder) gone(path string, p *pending, now time.Time) {
	if p.since.IsZero() || p.seen != (stamp.Stamp{}) {
		p.seen, p.since = stamp.Stamp{}, now
	}
	if _, known := f.stampOf(path); known && now.Sub(p.since) < stamp.SettleTime {
		return
	}
	f.r.remove(path)
	f.stale = true
	f.forget(path)
}

func (f *folder) stampOf(path string) (stamp.Stamp, bool) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	known := f.r.files[path]
	if known == nil {
		return stamp.Stamp{}, false
	}
	return known.stamp, true
}

// look has a file loaded.
func (f *folder) look(path string, p *pending) {
	p.busy, p.again = true, false
	before := f.r.beginLoad(path)
	f.stale = true
	f.r.work.Go(func() {
		f.slots <- struct{}{}
		l := f.r.load(f.r.stop, path, before)
		<-f.slots
		select {
		case f.results <- l:
		case <-f.r.stop.Done():
			l.discard()
		}
	})
}

// finish takes a result in, unless the file must be waited for.
func (f *folder) finish(l loaded) {
	p := f.pending[l.path]
	p.busy = false
	now := time.Now()
	if errors.Is(l.err, stamp.ErrUnsettled) {
		if l.stamp != p.seen {
			p.seen, p.since = l.stamp, now
		}
		return // the next tick tries again
	}
	f.drop(l.path, l)
	if p.again {
		f.mark(l.path)
	}
}

// drop ends the waiting for a path with a result.
func (f *folder) drop(path string, l loaded) {
	f.r.apply(l)
	f.stale = true
	f.forget(path)
}

// forget ends the waiting for a path. The catalogue is brought up to date before Ready returns.
func (f *folder) forget(path string) {
	delete(f.pending, path)
	if len(f.pending) == 0 && f.stale {
		f.stale = false
		f.r.assemble()
	}
	f.r.busy(-1)
	if len(f.pending) == 0 {
		f.r.cache.Flush()
	}
}
