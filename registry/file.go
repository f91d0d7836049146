package registry

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// file is the state of one plugin file: its serving contents, and the result of loading its newest bytes. Guarded by
// Registry.mu.
type file struct {
	path   string
	stamp  fileid.Stamp       // of the bytes loaded last
	module *plugin.Module     // the serving module; nil if there is none
	err    error              // why the newest bytes do not serve
	text   *document.Document // the serving document; nil in other files
	extism *extismfile.File   // the serving Extism manifest; nil in other files
}

// sourcePath returns the absolute path of a configuration's source; "" if it has none.
func (r *Registry) sourcePath(c Config) string {
	if c.Source == "" {
		return ""
	}
	path := filepath.FromSlash(c.Source)
	if rest, ok := strings.CutPrefix(c.Source, "~/"); ok && r.places.Home != "" {
		path = filepath.Join(r.places.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.opts.Dir, path)
	}
	return absolute(path)
}

// absolute returns the absolute path, by which files are identified.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path // there is no working directory
}

// beginLoad records that a file is being loaded and returns its serving module.
func (r *Registry) beginLoad(path string) *plugin.Module {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[path]
	if f == nil {
		f = &file{path: path}
		r.files[path] = f
	}
	return f.module
}

// apply stores the result of loading a file. The catalog does not show it yet.
func (r *Registry) apply(l loaded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		l.discard()
		return
	}
	f := r.files[l.path]
	if f == nil {
		f = &file{path: l.path}
		r.files[l.path] = f
	}
	f.stamp, f.err = l.stamp, l.err
	switch {
	case l.extism != nil:
		f.extism = l.extism
	case l.text != nil:
		f.text = l.text
	case l.fresh:
		f.serve(l.module)
		r.warmUp(l.module)
	case l.err == nil && f.module != l.module:
		f.stamp = fileid.Stamp{} // the module was found broken meanwhile: load it again
	case l.err != nil && f.module != nil && !f.module.Ready():
		f.serve(nil) // its bytes are gone
	}
}

// serve replaces the module of a file and takes over the reference to it; nil removes it.
func (f *file) serve(m *plugin.Module) {
	if f.module != nil {
		f.module.Release()
	}
	f.module = m
}

// remove forgets a file.
func (r *Registry) remove(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.files[path]; f != nil {
		f.serve(nil)
		delete(r.files, path)
	}
}

// broken removes a module that failed to compile.
func (r *Registry) broken(m *plugin.Module, err error) {
	r.mu.Lock()
	f := r.files[m.Path]
	hit := f != nil && f.module == m
	if hit {
		f.err = err
		f.serve(nil)
	}
	r.mu.Unlock()
	if hit {
		r.assemble()
	}
}

// loadFiles loads Options.Files concurrently and waits for them.
func (r *Registry) loadFiles(ctx context.Context) {
	results := make(chan loaded, 2*len(r.opts.Files))
	var loading sync.WaitGroup
	for _, f := range r.opts.Files {
		path := absolute(f.Path)
		loading.Go(func() {
			l := r.load(ctx, path, nil)
			results <- l
			if l.extism != nil && l.extism.Err == nil {
				results <- r.load(ctx, l.extism.Module, nil)
			}
		})
	}
	loading.Wait()
	close(results)
	for l := range results {
		r.apply(l)
	}
	r.cache.Flush()
	r.assemble()
}
