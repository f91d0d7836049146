package registry

import (
	"context"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// loader reads plugin files and compiles their modules: on their first call, or ahead of it.
type loader struct {
	plugin.Loader
	approvals approvals
	life      *lifecycle
	changed   func(path string)           // called if a file changed before its module was compiled
	broken    func(*plugin.Module, error) // called if a module cannot be compiled

	warm      chan *plugin.Module
	warmAfter time.Duration
	listed    <-chan struct{} // closed when the first list can be answered
}

const (
	// maxWarm limits the modules queued for compilation ahead of their first call. Each keeps its machine code in
	// memory, several times its file; further plugins are compiled by their first call.
	maxWarm = 24
	// warmDelay leaves the processor to the first requests. A compilation cannot be interrupted, so a host started only
	// for its lists begins none.
	warmDelay = 5 * time.Second
	// listDelay leaves the processor to the answer of the first list, before modules that were compiled in a former run
	// are loaded. That takes some 50 ms for each.
	listDelay = 100 * time.Millisecond
)

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

// compile reads a module's file again and compiles it, if its bytes are unchanged.
func (l *loader) compile(ctx context.Context, m *plugin.Module, st fileid.Stamp) (*runtime.Module, error) {
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

// warmUp queues a module for compilation. With a full queue the module is left to its first call.
func (l *loader) warmUp(m *plugin.Module) {
	select {
	case l.warm <- m:
	default:
	}
}

// compileAhead compiles the queued modules one at a time until the registry closes. Those that a former run has compiled
// are only loaded, which begins soon after the first list.
func (l *loader) compileAhead() {
	late := time.NewTimer(l.warmAfter)
	defer late.Stop()
	isLate := l.awaitQuiet(late.C)
	var uncompiled []*plugin.Module
	for {
		if isLate {
			for _, m := range uncompiled {
				l.getAhead(m)
			}
			uncompiled = nil
		}
		select {
		case <-l.life.stop.Done():
			return
		case <-late.C:
			isLate = true
		case m := <-l.warm:
			switch {
			case isLate || l.isCompiled(m):
				l.getAhead(m)
			case len(uncompiled) < maxWarm:
				uncompiled = append(uncompiled, m)
			}
		}
	}
}

// awaitQuiet waits until the first list is answered, and reports whether late came before that.
func (l *loader) awaitQuiet(late <-chan time.Time) (isLate bool) {
	var quiet <-chan time.Time
	listed := l.listed
	for {
		select {
		case <-l.life.stop.Done():
			return false
		case <-late:
			return true
		case <-listed:
			listed, quiet = nil, time.After(listDelay)
		case <-quiet:
			return false
		}
	}
}

// isCompiled reports whether a former run has compiled a module.
func (l *loader) isCompiled(m *plugin.Module) bool {
	digits, ok := fileid.Hex(m.Digest)
	return ok && l.Engine.Compiled(digits)
}

// getAhead compiles or loads a module, unless nobody needs it any more.
func (l *loader) getAhead(m *plugin.Module) {
	if l.life.stop.Err() == nil && m.Wanted() {
		m.Get(l.life.stop)
	}
}
