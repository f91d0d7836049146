package registry

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
)

// file is one plugin file: what of it serves, and what became of its newest bytes. Registry.mu
// guards it.
type file struct {
	path   string
	stamp  stamp.Stamp        // of the bytes that were looked at last
	module *module.Module     // what serves; nil if nothing does
	err    error              // why the newest bytes do not serve
	text   *document.Document // what serves of a document; nil in other files
	extism *extismfile.File   // what serves of an Extism manifest; nil in other files
}

// sourcePath is where the source of a configuration lies; "" if it has none.
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

// absolute is a path from the root, as files are known by.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path // there is no working directory
}

// beginLoad notes that a file is being looked at and returns what serves of it so far.
func (r *Registry) beginLoad(path string) *module.Module {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[path]
	if f == nil {
		f = &file{path: path}
		r.files[path] = f
	}
	return f.module
}

// apply takes the result of looking at a file in. The catalogue does not show it yet.
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
		f.stamp = stamp.Stamp{} // the module was found broken meanwhile: look again
	case l.err != nil && f.module != nil && !f.module.Ready():
		f.serve(nil) // its bytes are gone
	}
}

// serve replaces the module of a file, which takes over the claim on it; nil takes it away.
func (f *file) serve(m *module.Module) {
	if f.module != nil {
		f.module.Release()
	}
	f.module = m
}

// remove takes a file out.
func (r *Registry) remove(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.files[path]; f != nil {
		f.serve(nil)
		delete(r.files, path)
	}
}

// broken takes a module out that turned out not to compile.
func (r *Registry) broken(m *module.Module, err error) {
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

// loadFiles loads Options.Files, all at once, and waits for them.
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
