// Package module finds out what a plugin file holds, and keeps it compiled for all who share it. A
// module, the bytes of one digest, is described at once, and compiled when somebody needs it.
package module

import (
	"context"
	"errors"
	"sync"

	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// ErrReplaced is why a module cannot be compiled: its file holds other bytes by now.
var ErrReplaced = errors.New("the plugin's file has changed and is being loaded again")

// Module is shared by all plugins of a file. Whoever holds it has a claim, and gives it up with
// Release. It is safe for concurrent use.
type Module struct {
	Path     string
	Digest   string // SHA-256, "sha256:" and hex
	Dialect  runtime.Dialect
	Manifest *manifest.Manifest
	Memory   uint64 // bytes of linear memory that an instance starts with

	hashed sync.Once
	hashes map[string]string

	compile func(ctx context.Context) (*runtime.Module, error)
	run     func(func())

	mu       sync.Mutex
	refs     int           // the file and each server
	done     chan struct{} // nil: not begun
	stop     func()        // ends the compilation; nil: not begun
	compiled *runtime.Module
	err      error
}

// newModule returns a module with one claim, its maker's.
func newModule(path, digest string) *Module {
	return &Module{Path: path, Digest: digest, refs: 1}
}

// Hashes are the hashes of what the plugin offers, as its manifest writes it, by manifest.Key. The caller
// must not change them.
func (m *Module) Hashes() map[string]string {
	m.hashed.Do(func() { m.hashes = lock.Hashes(m.Manifest.Definitions()) })
	return m.hashes
}

// have gives the module its compiled form.
func (m *Module) have(compiled *runtime.Module) {
	m.done, m.compiled = make(chan struct{}), compiled
	close(m.done)
}

// CompileBy says how the module is compiled, and run a goroutine that somebody waits for. It is called
// before the first Get.
func (m *Module) CompileBy(compile func(ctx context.Context) (*runtime.Module, error), run func(func())) {
	m.compile, m.run = compile, run
}

// Get returns the compiled module. The first call starts the compilation, later ones wait for the
// same; it goes on when a caller gives up, and ends when nobody has a claim any more. A module that could not be
// read is tried again.
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
	if m.refs == 0 { // everybody has left
		if compiled != nil {
			compiled.Close()
		}
		compiled, err = nil, runtime.ErrClosed
	}
	m.compiled, m.err = compiled, err
	if errors.Is(err, ErrReplaced) {
		m.done = nil // the same bytes may come back
	}
}

// Ready reports whether the module is compiled: its file is not needed any more.
func (m *Module) Ready() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.compiled != nil
}

// Wanted reports whether anybody may still use the module.
func (m *Module) Wanted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refs > 0
}

// Retain adds a claim.
func (m *Module) Retain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs++
}

// Release gives up one claim; the last one closes the compiled module.
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
