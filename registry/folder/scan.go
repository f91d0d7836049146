package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
)

// wanted reports whether plugins are loaded from a path.
func (f *Watcher) wanted(path string) bool {
	if filepath.Dir(path) == f.Dir && isPlugin(filepath.Base(path)) {
		return true
	}
	_, ok := f.Files.Sources()[path]
	return ok
}

// projectFiles are files of a script's project, which are no Extism manifests.
var projectFiles = []string{"package.json", "package-lock.json", "tsconfig.json", "jsconfig.json"}

// isPlugin reports whether a file name in the folder is that of a plugin.
func isPlugin(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	if slices.Contains(projectFiles, name) {
		return false
	}
	return !strings.HasPrefix(name, ".") && (ext == ".wasm" || script.Is(name) || ext == ".json" || ext == ".skill" || strings.HasSuffix(strings.ToLower(name), ".prompt.md"))
}

// subject returns the plugin file that a changed file is, or belongs to.
func subject(path string) string {
	if toolfile.Is(path) {
		return toolfile.Module(path)
	}
	return path
}

// event records that the file system has reported a path. A source file may belong to any script.
func (f *Watcher) event(path string) {
	if f.wanted(path) {
		f.mark(path)
	}
	if script.Is(path) {
		f.scan()
	}
}

// mark records that a path may have changed.
func (f *Watcher) mark(path string) {
	if p := f.pending[path]; p != nil {
		p.again = true
		return
	}
	f.pending[path] = &pending{}
	f.work.add(1, 0)
	f.check(path, f.now())
}

// scan marks every path with a stamp other than that of the bytes loaded last.
func (f *Watcher) scan() {
	here := f.list()
	stamps := f.Files.Stamps()
	for path := range here {
		st, err := toolfile.Stamp(path)
		if known, ok := stamps[path]; !ok || err != nil || known != st {
			f.mark(path)
		}
		delete(stamps, path)
	}
	for path := range stamps {
		f.mark(path)
	}
}

// list returns the paths to load plugins from, and adds their folders to the notifications.
func (f *Watcher) list() map[string]bool {
	here := map[string]bool{}
	folders := map[string]bool{}
	if f.Dir != "" {
		f.events.add(f.Dir) // before it is read: a file that is saved meanwhile is reported
		for _, path := range plugins(f.Dir) {
			here[path] = true
			if script.Is(path) {
				addFolders(folders, script.Inputs(path))
			}
		}
	}
	for path, wanted := range f.Files.Sources() {
		if wanted {
			folders[filepath.Dir(path)] = true
			here[path] = true
		}
	}
	for dir := range folders {
		f.events.add(dir)
	}
	return here
}

// addFolders adds the folders of files.
func addFolders(folders map[string]bool, files []string) {
	for _, file := range files {
		folders[filepath.Dir(file)] = true
	}
}

// plugins lists the plugin files of a folder; links are followed.
func plugins(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	var paths []string
	for len(paths) < maxFiles {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			if isPlugin(name) {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
		if err != nil {
			break
		}
	}
	return paths
}

// due checks all pending paths, and publishes changes.
func (f *Watcher) due() {
	now := f.now()
	for path, p := range f.pending {
		if !p.busy {
			f.check(path, now)
		}
	}
	if f.stale {
		f.stale = false
		f.Files.Show()
	}
}

// check decides about one pending path: removed, unchanged, not settled, or to be loaded.
func (f *Watcher) check(path string, now time.Time) {
	p := f.pending[path]
	st, err := toolfile.Stamp(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fileid.ErrNotRegular) || err == nil && !f.wanted(path) {
		f.gone(path, p, now)
		return
	}
	if err != nil {
		f.look(path, p) // which reports the error
		return
	}
	if known, ok := f.Files.Stamp(path); ok && known == st {
		f.forget(path)
		return
	}
	f.Files.Found(path)
	if p.since.IsZero() || p.seen != st {
		p.seen, p.since = st, now
	}
	if st.Quiet(p.since, now) < fileid.SettleTime {
		f.setStill(p, true)
		return
	}
	f.look(path, p)
}

// gone removes a file that has been missing for stamp.SettleTime: some programs replace a file by removing it first.
func (f *Watcher) gone(path string, p *pending, now time.Time) {
	if p.since.IsZero() || p.seen != (fileid.Stamp{}) {
		p.seen, p.since = fileid.Stamp{}, now
	}
	if _, known := f.Files.Stamp(path); known && now.Sub(p.since) < fileid.SettleTime {
		return
	}
	f.Files.Remove(path)
	f.stale = true
	f.forget(path)
}

// look loads a file in the background.
func (f *Watcher) look(path string, p *pending) {
	p.busy, p.again = true, false
	f.setStill(p, false)
	load := f.Files.Begin(path)
	f.stale = true
	f.Go(func() {
		f.slots <- struct{}{}
		l := looked{path, load(f.ctx)}
		<-f.slots
		select {
		case f.results <- l:
		case <-f.ctx.Done():
			l.Discard()
		}
	})
}

// finish applies a result, unless the file has not settled.
func (f *Watcher) finish(l looked) {
	p := f.pending[l.path]
	p.busy = false
	if errors.Is(l.Err, fileid.ErrUnsettled) {
		if l.Stamp != p.seen {
			p.seen, p.since = l.Stamp, f.now()
		}
		f.setStill(p, true)
		return // retried at the next tick
	}
	l.Apply()
	f.stale = true
	f.forget(l.path)
	if p.again {
		f.mark(l.path)
	}
}

// forget ends the pending state of a path. Recorded changes are published before Ready returns.
func (f *Watcher) forget(path string) {
	p := f.pending[path]
	delete(f.pending, path)
	if len(f.pending) == 0 && f.stale {
		f.stale = false
		f.Files.Show()
	}
	if p != nil && p.still {
		f.work.add(-1, -1)
	} else {
		f.showLast()
		f.work.add(-1, 0)
	}
	if len(f.pending) == 0 {
		f.Files.Idle()
	}
}

// setStill records whether a file is being written.
func (f *Watcher) setStill(p *pending, still bool) {
	if p.still == still {
		return
	}
	p.still = still
	if still {
		f.showLast()
		f.work.add(0, 1)
	} else {
		f.work.add(0, -1)
	}
}

// showLast publishes recorded changes before Looked returns, if this is the last pending file that is not being
// written.
func (f *Watcher) showLast() {
	if f.stale && f.work.working() == 1 {
		f.stale = false
		f.Files.Show()
	}
}
