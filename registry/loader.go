package registry

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// loader reads plugin files, and compiles their modules when they are needed.
type loader struct {
	plugin.Loader
	approvals approvals
	life      *lifecycle
	changed   func(path string)           // called if a file changed before its module was compiled
	broken    func(*plugin.Module, error) // called if a module cannot be compiled
}

// loaded is the result of loading a file.
type loaded struct {
	path   string
	module *plugin.Module
	fresh  bool // the module was made for this result, which holds the reference to it
	stamp  fileid.Stamp
	err    error
	text   *document.Document // of a document, which has no module
	extism *extismfile.File   // of an Extism manifest, which has no module; that is loaded separately
}

// discard releases a module that was not taken over.
func (l loaded) discard() {
	if l.fresh {
		l.module.Release()
	}
}

// load reads a file. If it has the same contents as before, before is returned. A module that replaces a serving one is
// compiled first, so that a broken one replaces nothing.
func (l *loader) load(ctx context.Context, path string, before *plugin.Module) loaded {
	if document.Is(path) {
		text, st, err := document.Read(path)
		return loaded{path: path, stamp: st, text: text, err: err}
	}
	if extismfile.Is(path) {
		f, st, err := extismfile.Read(path)
		return loaded{path: path, stamp: st, extism: f, err: err}
	}
	st, err := toolfile.Stamp(path)
	if err != nil {
		return loaded{path: path, err: fileid.Plain(err)}
	}
	m, read, err := l.Find(ctx, path, st, before)
	if read != (fileid.Stamp{}) {
		st = read
	}
	result := loaded{path: path, stamp: st, module: m, err: err, fresh: m != nil && m != before}
	if result.fresh {
		m.CompileBy(func(ctx context.Context) (*runtime.Module, error) { return l.compile(ctx, m, st) }, l.life.work.Go)
		m.ReadBy(func(context.Context) ([]byte, error) { return l.approvals.bytesOf(m) })
	}
	if result.fresh && before != nil {
		if _, err := m.Get(ctx); err != nil {
			result.discard()
			return loaded{path: path, stamp: st, err: err}
		}
	}
	return result
}

// compile reads a module's file again and compiles it, if its bytes are unchanged. Code of these bytes that is loaded
// already needs no file.
func (l *loader) compile(ctx context.Context, m *plugin.Module, st fileid.Stamp) (*runtime.Module, error) {
	if digits, ok := fileid.Hex(m.Digest); ok && l.Engine != nil {
		if loaded := l.Engine.Find(ctx, digits); loaded != nil {
			return loaded, nil
		}
	}
	wasm, err := l.approvals.bytesOf(m)
	if err != nil {
		l.Cache.Forget(st)
		l.changed(m.Path)
		return nil, plugin.ErrReplaced
	}
	compiled, err := l.Compile(ctx, wasm)
	if err != nil {
		l.broken(m, err)
	}
	return compiled, err
}
