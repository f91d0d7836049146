package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

const (
	// maxFile bounds a plugin file, in bytes; the largest known, interpreters with their libraries,
	// have some 50 MiB.
	maxFile = 256 << 20
	// describeTime is how long a plugin may take to say what it offers.
	describeTime = 10 * time.Second
)

// errUnsettled is why a file is not read: somebody may still be writing it.
var errUnsettled = errors.New("the file is still being written")

// loader makes modules of files.
type loader struct {
	engine   *runtime.Engine
	host     *hostfuncs.Host
	dialects []Dialect
	cache    *cache
}

// load looks at a file. If it holds what was loaded from it before, that is returned. A module that
// takes the place of another is compiled first, so that a broken one replaces nothing.
func (r *Registry) load(ctx context.Context, path string, before *module) loaded {
	st, err := stampOf(path)
	if err != nil {
		return loaded{path: path, err: plain(err)}
	}
	m, read, err := r.loader().find(ctx, path, st, before)
	if read != (stamp{}) {
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
func (l *loader) find(ctx context.Context, path string, st stamp, before *module) (*module, stamp, error) {
	if digest, ok := l.cache.digest(st); ok {
		if before != nil && before.digest == digest {
			return before, st, nil
		}
		if m, ok := l.known(path, digest, st.size); ok {
			return m, st, nil
		}
	}
	began := time.Now()
	wasm, st, err := readSettled(path)
	if err != nil {
		return nil, st, err
	}
	digest := digestOf(wasm)
	if st.age(began) > settleTime { // else bytes written in the same tick could have the same stamp
		l.cache.putDigest(st, digest)
	}
	if before != nil && before.digest == digest {
		return before, st, nil
	}
	if m, ok := l.known(path, digest, st.size); ok {
		return m, st, nil
	}
	m, err := l.examine(ctx, path, digest, wasm)
	return m, st, err
}

// known makes a module from the cache alone.
func (l *loader) known(path, digest string, size int64) (*module, bool) {
	name, raw, ok := l.cache.module(digest)
	if !ok {
		return nil, false
	}
	for _, d := range l.dialects {
		if d.Dialect.Name() != name {
			continue
		}
		manifest, err := ParseManifest(raw)
		if err != nil {
			return nil, false
		}
		m := newModule(path, digest, size)
		m.dialect, m.manifest = d.Dialect, manifest
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
	m := newModule(path, digest, int64(len(wasm)))
	m.dialect = d
	raw, ok := b.CustomSection(wasmbin.ManifestSection)
	if !ok {
		if raw, err = l.describe(ctx, m, wasm); err != nil {
			return nil, fmt.Errorf("plugin/describe: %w", err)
		}
	}
	raw = bytes.Clone(raw) // not the whole file is to be kept for it
	if m.manifest, err = ParseManifest(raw); err != nil {
		m.release()
		return nil, err
	}
	l.cache.putModule(digest, d.Name(), raw)
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
	pool := runtime.NewPool(compiled, d, runtime.Limits{Deadline: describeTime, Output: maxManifest})
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
func (r *Registry) compile(ctx context.Context, m *module, st stamp) (*runtime.Module, error) {
	wasm, _, err := readSettled(m.path)
	if err != nil || digestOf(wasm) != m.digest {
		r.cache.forget(st)
		r.touch(m.path)
		return nil, errReplaced
	}
	compiled, err := r.loader().compileBytes(ctx, wasm)
	if err != nil {
		r.broken(m, err)
	}
	return compiled, err
}

// readSettled reads a whole file that nobody is writing. The stamp is that of the bytes.
func readSettled(path string) ([]byte, stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, stamp{}, plain(err)
	}
	defer f.Close()
	before, err := openStamp(f, path)
	if err != nil {
		return nil, stamp{}, plain(err)
	}
	if before.size > maxFile {
		return nil, before, fmt.Errorf("the file is over %d MiB", maxFile>>20)
	}
	if beingWritten(f) {
		return nil, before, errUnsettled
	}
	wasm := make([]byte, before.size)
	if _, err := io.ReadFull(f, wasm); err != nil {
		return nil, before, errUnsettled // shorter than it said
	}
	after, err := openStamp(f, path)
	if err != nil || after != before {
		return nil, before, errUnsettled
	}
	return wasm, after, nil
}

func openStamp(f *os.File, path string) (stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stampFrom(path, info)
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// plain takes the path out of an error, which statuses name beside it.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
