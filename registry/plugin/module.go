package plugin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// ErrReplaced is returned if a module cannot be compiled because its file has changed.
var ErrReplaced = errors.New("the plugin's file has changed and is being loaded again")

// Module is shared by all plugins of a file. It is reference-counted: each holder calls Release once. It is safe for
// concurrent use.
type Module struct {
	Path     string
	Digest   string // SHA-256, "sha256:" and hex
	Dialect  runtime.Dialect
	Manifest *manifest.Manifest
	Memory   uint64 // initial size of linear memory, in bytes
	Beside   uint64 // host memory of an instance for its tables, element segments and globals, in bytes

	calls  atomic.Uint64 // since TakeCalls
	hashed sync.Once
	hashes map[string]string

	compile func(ctx context.Context) (*runtime.Module, error)
	read    func(ctx context.Context) ([]byte, error)
	run     func(func())

	mu       sync.Mutex
	refs     int           // the file and each server
	done     chan struct{} // nil: not started
	stop     func()        // cancels the compilation; nil: not started
	compiled *runtime.Module
	err      error
}

// newModule returns a module with one reference, held by the caller.
func newModule(path, digest string) *Module {
	return &Module{Path: path, Digest: digest, refs: 1}
}

// Hashes returns the hashes of the module's definitions, by manifest.Key. The caller must not modify them.
func (m *Module) Hashes() map[string]string {
	m.hashed.Do(func() { m.hashes = lock.Hashes(m.Manifest.Definitions()) })
	return m.hashes
}

// TakeCalls returns the number of calls since the last time.
func (m *Module) TakeCalls() uint64 { return m.calls.Swap(0) }

// have sets the compiled form.
func (m *Module) have(compiled *runtime.Module) {
	m.done, m.compiled = make(chan struct{}), compiled
	close(m.done)
}

// CompileBy sets the function that compiles the module, and a function that runs it in a tracked goroutine. It must be
// called before the first Get.
func (m *Module) CompileBy(compile func(ctx context.Context) (*runtime.Module, error), run func(func())) {
	m.compile, m.run = compile, run
}

// ReadBy sets the function that reads the module's bytes again, in case it is unloaded. It must be called before the first
// Get.
func (m *Module) ReadBy(read func(ctx context.Context) ([]byte, error)) {
	m.read = read
	if m.compiled != nil { // it described itself
		m.compiled.ReadAgainBy(read)
	}
}

// Get returns the compiled module. The first call starts the compilation, later ones wait for it. It continues when a
// caller's ctx is done, and is cancelled with the last reference. After ErrReplaced the next call tries again.
func (m *Module) Get(ctx context.Context) (*runtime.Module, error) {
	m.mu.Lock()
	if m.done == nil {
		m.done = make(chan struct{})
		done := m.done
		ctx, stop := context.WithCancel(context.Background())
		m.stop = stop
		m.run(func() {
			defer stop()
			m.compileOnce(ctx, done)
		})
	}
	done := m.done
	m.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.compiled, m.err
}

func (m *Module) compileOnce(ctx context.Context, done chan struct{}) {
	compiled, err := m.compile(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	defer close(done)
	if m.refs == 0 { // the last reference was released
		if compiled != nil {
			compiled.Close()
		}
		compiled, err = nil, runtime.ErrClosed
	}
	if m.compiled, m.err = compiled, err; compiled != nil && m.read != nil {
		compiled.ReadAgainBy(m.read)
	}
	if errors.Is(err, ErrReplaced) {
		m.done = nil // the same bytes may come back
	}
}

// Ready reports whether the module is compiled and its file no longer needed.
func (m *Module) Ready() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.compiled != nil
}

// Wanted reports whether there are references left.
func (m *Module) Wanted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refs > 0
}

// Retain adds a reference.
func (m *Module) Retain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs++
}

// Release drops a reference; the last one closes the compiled module.
func (m *Module) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs--; m.refs > 0 {
		return
	}
	if m.stop != nil {
		m.stop()
	}
	if m.compiled != nil {
		m.compiled.Close()
		m.compiled, m.err = nil, runtime.ErrClosed
	}
}
