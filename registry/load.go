package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/stamp"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// describeTime is how long a plugin may take to say what it offers.
const describeTime = 10 * time.Second

// loader makes modules of files.
type loader struct {
	engine   *runtime.Engine
	host     *hostfuncs.Host
	dialects []Dialect
	cache    *cache.Cache
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

// load looks at a file. If it holds what was loaded from it before, that is returned. A module that
// takes the place of another is compiled first, so that a broken one replaces nothing.
func (r *Registry) load(ctx context.Context, path string, before *module) loaded {
	st, err := stamp.Of(path)
	if err != nil {
		return loaded{path: path, err: stamp.Plain(err)}
	}
	m, read, err := r.loader().find(ctx, path, st, before)
	if read != (stamp.Stamp{}) {
		st = read
	}
	l := loaded{path: path, stamp: st, module: m, err: err, fresh: m != nil && m != before}
	if l.fresh {
		m.compile = func(ctx context.Context) (*runtime.Module, error) { return r.compile(ctx, m, st) }
		m.work = &r.work
	}
	if l.fresh && before != nil {
		if _, err := m.get(ctx); err != nil {
			l.discard()
			return loaded{path: path, stamp: st, err: err}
		}
	}
	return l
}

func (r *Registry) loader() *loader {
	return &loader{engine: r.opts.Engine, host: r.host, dialects: r.opts.Dialects, cache: r.cache}
}

// find returns the module of a file: from what is known of its stamp, or by reading it.
func (l *loader) find(ctx context.Context, path string, st stamp.Stamp, before *module) (*module, stamp.Stamp, error) {
	if digest, ok := l.cache.Digest(st); ok {
		if before != nil && before.digest == digest {
			return before, st, nil
		}
		if m, ok := l.known(path, digest); ok {
			return m, st, nil
		}
	}
	began := time.Now()
	wasm, st, err := stamp.Read(path)
	if err != nil {
		return nil, st, err
	}
	digest := stamp.Digest(wasm)
	if st.Age(began) > stamp.SettleTime { // else bytes written in the same tick could have the same stamp
		l.cache.PutDigest(st, digest)
	}
	if before != nil && before.digest == digest {
		return before, st, nil
	}
	if m, ok := l.known(path, digest); ok {
		return m, st, nil
	}
	m, err := l.examine(ctx, path, digest, wasm)
	return m, st, err
}

// known makes a module from the cache alone.
func (l *loader) known(path, digest string) (*module, bool) {
	name, raw, ok := l.cache.Module(digest)
	if !ok {
		return nil, false
	}
	for _, d := range l.dialects {
		if d.Dialect.Name() != name {
			continue
		}
		described, err := manifest.Parse(raw)
		if err != nil {
			return nil, false
		}
		m := newModule(path, digest)
		m.dialect, m.manifest = d.Dialect, described
		return m, true
	}
	return nil, false
}

// examine finds out what a module offers: from its own section, or by asking it.
func (l *loader) examine(ctx context.Context, path, digest string, wasm []byte) (*module, error) {
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	d, err := recognise(b, l.dialects)
	if err != nil {
		return nil, err
	}
	m := newModule(path, digest)
	m.dialect = d
	raw, ok := b.CustomSection(wasmbin.ManifestSection)
	if !ok {
		if raw, err = l.describe(ctx, m, wasm); err != nil {
			return nil, fmt.Errorf("plugin/describe: %w", err)
		}
	}
	raw = bytes.Clone(raw) // not the whole file is to be kept for it
	if m.manifest, err = manifest.Parse(raw); err != nil {
		m.release()
		return nil, err
	}
	l.cache.PutModule(digest, d.Name(), raw)
	return m, nil
}

// describe compiles a module and asks it what it offers, with no grants.
func (l *loader) describe(ctx context.Context, m *module, wasm []byte) (json.RawMessage, error) {
	compiled, err := l.compileBytes(ctx, wasm)
	if err != nil {
		return nil, err
	}
	raw, err := ask(ctx, l.host, compiled, m.dialect, filepath.Base(m.path))
	if err != nil {
		compiled.Close()
		return nil, err
	}
	m.have(compiled)
	return raw, nil
}

// ask runs plugin/describe in an instance of its own.
func ask(ctx context.Context, host *hostfuncs.Host, compiled *runtime.Module, d runtime.Dialect, name string) (json.RawMessage, error) {
	pool := runtime.NewPool(compiled, d, runtime.Limits{Deadline: describeTime, Output: manifest.MaxSize})
	defer pool.Close(ctx)
	policy := host.Plugin(hostfuncs.Plugin{Name: name})
	defer policy.Close()
	gate := policy.NewGate(hostfuncs.Call{ID: "describe", Method: "plugin/describe"})
	defer gate.Close()
	return pool.Call(ctx, runtime.Request{Method: "plugin/describe"}, gate)
}

func (l *loader) compileBytes(ctx context.Context, wasm []byte) (*runtime.Module, error) {
	if l.engine == nil {
		return nil, errors.New("this host runs no modules")
	}
	return l.engine.Compile(ctx, wasm)
}

// compile reads a module's file once more and compiles it, if it still holds the same bytes.
func (r *Registry) compile(ctx context.Context, m *module, st stamp.Stamp) (*runtime.Module, error) {
	wasm, _, err := stamp.Read(m.path)
	if err != nil || stamp.Digest(wasm) != m.digest {
		r.cache.Forget(st)
		r.touch(m.path)
		return nil, errReplaced
	}
	compiled, err := r.loader().compileBytes(ctx, wasm)
	if err != nil {
		r.broken(m, err)
	}
	return compiled, err
}
