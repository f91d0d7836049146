package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/cache"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// DescribeTime is the deadline of plugin/describe. The request is made for the bytes of a file, before a plugin name or
// settings are known.
const DescribeTime = 10 * time.Second

// DescribeMemory is the memory of a guest that describes itself, in bytes. It is more than that of its calls: a plugin that
// needs it loads, and the error of a call names the setting.
const DescribeMemory = 256 << 20

// Loader makes modules from files.
type Loader struct {
	Engine   *runtime.Engine // nil: only cached modules can be loaded
	Host     *hostfuncs.Host
	Dialects []Dialect
	Cache    *cache.Cache
	Buffers  *fileid.Buffers // for file contents while they are examined
	Describe time.Duration   // deadline of plugin/describe; 0 means DescribeTime
}

// Find returns the module of a file: from the cache by its stamp, or by reading it. If the file has the digest of
// before, that is returned, else a new module with one reference, held by the caller. The returned stamp is that of the
// bytes; zero if reading failed.
func (l *Loader) Find(ctx context.Context, path string, st fileid.Stamp, before *Module) (*Module, fileid.Stamp, error) {
	if digest, ok := l.Cache.Digest(st); ok {
		if before != nil && before.Digest == digest {
			return before, st, nil
		}
		if m, ok := l.known(path, digest); ok {
			return m, st, nil
		}
	}
	began := time.Now()
	wasm, st, err := toolfile.ReadBy(l.Buffers.Read, path)
	if err != nil {
		return nil, st, err
	}
	defer l.Buffers.Put(wasm)
	digest := fileid.Digest(wasm)
	if st.Age(began) > fileid.SettleTime { // else bytes written in the same tick could have the same stamp
		l.Cache.PutDigest(st, digest)
	}
	if before != nil && before.Digest == digest {
		return before, st, nil
	}
	if m, ok := l.known(path, digest); ok {
		return m, st, nil
	}
	m, err := l.examine(ctx, path, digest, wasm)
	return m, st, err
}

// known makes a module from the cache only.
func (l *Loader) known(path, digest string) (*Module, bool) {
	known, ok := l.Cache.Module(digest)
	if !ok {
		return nil, false
	}
	for _, d := range l.Dialects {
		if d.Dialect.Name() != known.Dialect {
			continue
		}
		described, err := manifest.Parse(known.Manifest)
		if err != nil {
			return nil, false
		}
		m := newModule(path, digest)
		m.Dialect, m.Manifest, m.Memory, m.Beside = d.Dialect, described, known.Memory, known.Beside
		return m, true
	}
	return nil, false
}

// examine reads a module's manifest: from its custom section, or by running plugin/describe.
func (l *Loader) examine(ctx context.Context, path, digest string, wasm []byte) (*Module, error) {
	wasm, err := script.Expand(wasm)
	if err != nil {
		return nil, err
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	memory, beside, err := runtime.CheckOutline(b)
	if err != nil {
		return nil, err
	}
	d, err := detect(b, l.Dialects)
	if err != nil {
		return nil, named(err, path)
	}
	m := newModule(path, digest)
	m.Dialect, m.Memory, m.Beside = d, memory, beside
	raw, err := packed(b, d)
	if err != nil {
		m.Release()
		return nil, err
	}
	if raw == nil {
		if raw, err = l.describe(ctx, m, bytes.Clone(wasm)); err != nil { // compilation retains the bytes
			return nil, named(fmt.Errorf("plugin/describe: %w", err), path)
		}
	}
	raw = bytes.Clone(launched(b, raw)) // do not retain the whole file
	if m.Manifest, err = manifest.Parse(raw); err != nil {
		m.Release()
		return nil, err
	}
	l.Cache.PutModule(digest, cache.Module{Dialect: d.Name(), Memory: m.Memory, Beside: m.Beside, Manifest: raw})
	return m, nil
}

// describe compiles a module and runs plugin/describe without grants.
func (l *Loader) describe(ctx context.Context, m *Module, wasm []byte) (json.RawMessage, error) {
	compiled, err := l.Compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	raw, err := describe(ctx, l.Host, compiled, m.Dialect, filepath.Base(m.Path), cmp.Or(l.Describe, DescribeTime))
	if err != nil {
		compiled.Close()
		return nil, err
	}
	m.have(compiled)
	return raw, nil
}

// Describe runs plugin/describe in a separate instance and returns the manifest, unchecked.
func Describe(ctx context.Context, host *hostfuncs.Host, compiled *runtime.Module, d runtime.Dialect, name string) (json.RawMessage, error) {
	return describe(ctx, host, compiled, d, name, DescribeTime)
}

func describe(ctx context.Context, host *hostfuncs.Host, compiled *runtime.Module, d runtime.Dialect, name string, limit time.Duration) (json.RawMessage, error) {
	pool := runtime.NewPool(compiled, d, &runtime.PoolOptions{
		Limits: runtime.Limits{Deadline: limit, Start: limit, Output: manifest.MaxSize, Memory: DescribeMemory},
		State:  runtime.StateFresh, // for a single call
	})
	defer pool.Close(ctx)
	policy := host.Plugin(hostfuncs.Plugin{Name: name})
	defer policy.Close()
	gate := policy.NewGate(hostfuncs.Call{ID: "describe", Method: "plugin/describe"})
	defer gate.Close()
	raw, err := pool.Call(ctx, runtime.Request{Method: "plugin/describe"}, gate)
	var end *runtime.EndError
	if errors.As(err, &end) { // the setting is that of calls
		end.Message = strings.Replace(end.Message, " ("+runtime.Setting("memory", false)+")", ", which no setting changes", 1)
	}
	switch {
	case end == nil:
	case end.Kind == runtime.KindDeadline && ctx.Err() == nil: // no setting changes this deadline
		end.Message = fmt.Sprintf("the guest did not describe itself within %s", limit)
	case end.Kind == runtime.KindExit:
		if said := lastLine(gate.Stderr()); said != "" {
			end.Message += ": " + said
		}
	case end.Kind == runtime.KindGuest && end.Code != 0:
		end.Message = fmt.Sprintf("the guest serves no plugin: it ended with error %d before it described itself; a plugin in Go calls Serve in an init function", end.Code)
	}
	return raw, err
}

// Compile compiles wasm with the loader's Engine.
func (l *Loader) Compile(ctx context.Context, wasm []byte) (*runtime.Module, error) {
	if l.Engine == nil {
		return nil, errors.New("this host runs no modules")
	}
	wasm, err := script.Expand(wasm)
	if err != nil {
		return nil, err
	}
	return l.Engine.Compile(ctx, wasm)
}
