package registry

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// loaded is the result of loading a file.
type loaded struct {
	path   string
	module *plugin.Module
	fresh  bool // the module was made for this result, which holds the reference to it
	stamp  fileid.Stamp
	err    error
	text   *document.Document // of a document, which has no module
	extism *extismfile.File   // of an Extism manifest, which has no module
}

// discard releases a module that was not taken over.
func (l loaded) discard() {
	if l.fresh {
		l.module.Release()
	}
}

// load reads a file. If it has the same contents as before, before is returned. A module that replaces a serving one is
// compiled first, so that a broken one replaces nothing.
func (r *Registry) load(ctx context.Context, path string, before *plugin.Module) loaded {
	if document.Is(path) {
		text, st, err := document.Read(path)
		return loaded{path: path, stamp: st, text: text, err: err}
	}
	if extismfile.Is(path) {
		return r.loadExtismFile(path)
	}
	st, err := fileid.Of(path)
	if err != nil {
		return loaded{path: path, err: fileid.Plain(err)}
	}
	m, read, err := r.loader().Find(ctx, path, st, before)
	if read != (fileid.Stamp{}) {
		st = read
	}
	l := loaded{path: path, stamp: st, module: m, err: err, fresh: m != nil && m != before}
	if l.fresh {
		m.CompileBy(func(ctx context.Context) (*runtime.Module, error) { return r.compile(ctx, m, st) }, r.work.Go)
	}
	if l.fresh && before != nil {
		if _, err := m.Get(ctx); err != nil {
			l.discard()
			return loaded{path: path, stamp: st, err: err}
		}
	}
	return l
}

func (r *Registry) loader() *plugin.Loader {
	return &plugin.Loader{Engine: r.opts.Engine, Host: r.host, Dialects: r.opts.Dialects, Cache: r.cache, Buffers: &r.buffers}
}

// compile reads a module's file again and compiles it, if its bytes are unchanged.
func (r *Registry) compile(ctx context.Context, m *plugin.Module, st fileid.Stamp) (*runtime.Module, error) {
	wasm, err := r.bytesOf(m)
	if err != nil {
		r.cache.Forget(st)
		r.touch(m.Path)
		return nil, plugin.ErrReplaced
	}
	compiled, err := r.loader().Compile(ctx, wasm)
	if err != nil {
		r.broken(m, err)
	}
	return compiled, err
}
