package registry

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// inputs holds the settings, files and built-in code that the catalog is computed from. Each method takes the lock. The
// registry holds it during a whole computation: no file may release its module before a generation retains it.
type inputs struct {
	folders folders

	mu       sync.Mutex
	closed   bool
	configs  map[string]Config
	defaults runtime.Limits
	files    fileTable
	code     map[string]*plugin.Code // the plugins of this process, by name
	copies   map[string]bool         // stored copies that serve while newer bytes wait for approval
}

// folders are the folders that paths of the settings are relative to.
type folders struct {
	dir  string // the plugin folder
	home string // the operator's; "" is none
}

// source returns the absolute path of a configuration's source; "" if it has none.
func (f folders) source(c Config) string {
	if c.Source == "" {
		return ""
	}
	path := filepath.FromSlash(c.Source)
	if rest, ok := strings.CutPrefix(c.Source, "~/"); ok && f.home != "" {
		path = filepath.Join(f.home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.dir, path)
	}
	return absolute(path)
}

// close rejects further changes; false if the inputs were closed already.
func (in *inputs) close() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	was := in.closed
	in.closed = true
	return !was
}

// anySource reports whether a file outside the folder is configured.
func (in *inputs) anySource() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, c := range in.configs {
		if c.Source != "" {
			return true
		}
	}
	return false
}

// sources returns the files outside the folder that configurations, manifests and stored copies need; false for a
// disabled plugin's, which is not read.
func (in *inputs) sources() map[string]bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	sources := map[string]bool{}
	for _, c := range in.configs {
		if path := in.folders.source(c); path != "" {
			sources[path] = sources[path] || !c.Disabled
		}
	}
	for path := range in.copies {
		sources[path] = true
	}
	for _, f := range in.files {
		if f.extism != nil && f.extism.Err == nil {
			sources[f.extism.Module] = true
		}
	}
	return sources
}

// stamps returns the stamps of all files.
func (in *inputs) stamps() map[string]fileid.Stamp {
	in.mu.Lock()
	defer in.mu.Unlock()
	stamps := make(map[string]fileid.Stamp, len(in.files))
	for path, f := range in.files {
		stamps[path] = f.stamp
	}
	return stamps
}

// stamp returns the stamp of one file.
func (in *inputs) stamp(path string) (fileid.Stamp, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.files[path]
	if f == nil {
		return fileid.Stamp{}, false
	}
	return f.stamp, true
}

// begin records that a file is being loaded and returns its serving module.
func (in *inputs) begin(path string) *plugin.Module {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.files.at(path).module
}

// apply stores the result of loading a file; false if the inputs are closed.
func (in *inputs) apply(l loaded) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		l.discard()
		return false
	}
	in.files.at(l.path).apply(l)
	return true
}

// remove forgets a file.
func (in *inputs) remove(path string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.files.remove(path)
}

// forceRead makes the next scan read a file again.
func (in *inputs) forceRead(path string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if f := in.files[path]; f != nil {
		f.stamp = fileid.Stamp{}
	}
}

// expect records a manifest before the result of its loading is applied, so that a scan finds its module. It reports
// whether that needs a scan: the module lies outside the plugin folder.
func (in *inputs) expect(path string, manifest *extismfile.File) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.files[path]
	if f == nil || filepath.Dir(manifest.Module) == in.folders.dir {
		return false
	}
	f.extism = manifest
	return true
}

// drop removes a module that failed to compile; false if its file has a different one.
func (in *inputs) drop(m *plugin.Module, err error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.files[m.Path]
	if f == nil || f.module != m {
		return false
	}
	f.err = err
	f.serve(nil)
	return true
}

// addCode adds a plugin of this process.
func (in *inputs) addCode(name string, code *plugin.Code) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return errClosed
	}
	in.code[name] = code
	return nil
}

// needCopies records the stored copies that plans serve from, and reports whether one of them is yet to be loaded. mu
// must be held.
func (in *inputs) needCopies(plans []*plan) (look bool) {
	in.copies = map[string]bool{}
	for _, p := range plans {
		if p.copy != "" {
			in.copies[p.copy] = true
			look = look || in.files[p.copy] == nil
		}
	}
	return look
}

// modules returns the modules of all files.
func (in *inputs) modules() (all []*plugin.Module) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, f := range in.files {
		if f.module != nil {
			all = append(all, f.module)
		}
	}
	return all
}
