package registry

import (
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// file is the state of one plugin file: its serving contents, and the result of loading its newest bytes.
type file struct {
	path   string
	stamp  fileid.Stamp       // of the bytes loaded last
	module *plugin.Module     // the serving module; nil if there is none
	err    error              // why the newest bytes do not serve
	text   *document.Document // the serving document; nil in other files
	extism *extismfile.File   // the serving Extism manifest; nil in other files
}

// serve replaces the module of a file and takes over the reference to it; nil removes it.
func (f *file) serve(m *plugin.Module) {
	if f.module != nil {
		f.module.Release()
	}
	f.module = m
}

// manifest returns the Extism manifest of a file; nil for none.
func (f *file) manifest() *extismfile.Manifest {
	if f == nil || f.extism == nil {
		return nil
	}
	return f.extism.Manifest
}

// apply stores the result of loading the file.
func (f *file) apply(l loaded) {
	f.stamp, f.err = l.stamp, l.err
	switch {
	case l.extism != nil:
		f.extism = l.extism
	case l.text != nil:
		f.text = l.text
	case l.fresh:
		f.serve(l.module)
	case l.err == nil && f.module != l.module:
		f.stamp = fileid.Stamp{} // the module was found broken meanwhile: load it again
	case l.err != nil && f.module != nil && !f.module.Ready():
		f.serve(nil) // its bytes are gone
	}
}

// fileTable holds the state of the plugin files by absolute path.
type fileTable map[string]*file

// at returns the state of a file, which is created if necessary.
func (t fileTable) at(path string) *file {
	f := t[path]
	if f == nil {
		f = &file{path: path}
		t[path] = f
	}
	return f
}

// remove forgets a file.
func (t fileTable) remove(path string) {
	if f := t[path]; f != nil {
		f.serve(nil)
		delete(t, path)
	}
}

// readingManifests reports whether a manifest in a folder was found and not yet read.
func (t fileTable) readingManifests(dir string) bool {
	for path, f := range t {
		if extismfile.Is(path) && f.extism == nil && f.err == nil && filepath.Dir(path) == dir {
			return true
		}
	}
	return false
}

// absolute returns the absolute path, by which files are identified.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path // there is no working directory
}
