package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// errReplaced is why a module cannot be compiled: its file holds other bytes by now.
var errReplaced = errors.New("the file has changed and is being loaded again")

// module is the bytes of one digest: what they offer, and once somebody needs it, their compiled
// form. It is shared by all plugins of a file.
type module struct {
	path     string
	digest   string // "sha256:" and hex
	dialect  runtime.Dialect
	manifest *manifest.Manifest
	compile  func(ctx context.Context) (*runtime.Module, error)
	work     *sync.WaitGroup // the registry's, which waits for compilations

	mu       sync.Mutex
	refs     int           // the file and each server
	done     chan struct{} // nil: not begun
	compiled *runtime.Module
	err      error
}

// newModule returns a module with one claim, its maker's.
func newModule(path, digest string) *module {
	return &module{path: path, digest: digest, refs: 1}
}

// have gives the module its compiled form.
func (m *module) have(compiled *runtime.Module) {
	m.done, m.compiled = make(chan struct{}), compiled
	close(m.done)
}

func (m *module) dialectName() string { return m.dialect.Name() }

// get returns the compiled module. The first call starts the compilation, later ones wait for the
// same; it goes on when a caller gives up. A module that could not be read is tried again.
func (m *module) get(ctx context.Context) (*runtime.Module, error) {
	m.mu.Lock()
	if m.done == nil {
		m.done = make(chan struct{})
		m.work.Go(func() { m.run(m.done) })
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

func (m *module) run(done chan struct{}) {
	compiled, err := m.compile(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	defer close(done)
	if m.refs == 0 && compiled != nil { // everybody has left
		compiled.Close()
		compiled, err = nil, runtime.ErrClosed
	}
	m.compiled, m.err = compiled, err
	if errors.Is(err, errReplaced) {
		m.done = nil // the same bytes may come back
	}
}

// ready reports whether the module is compiled: its file is not needed any more.
func (m *module) ready() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.compiled != nil
}

// wanted reports whether anybody may still use the module.
func (m *module) wanted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refs > 0
}

func (m *module) retain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs++
}

// release gives up one claim; the last one closes the compiled module.
func (m *module) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs--; m.refs == 0 && m.compiled != nil {
		m.compiled.Close()
		m.compiled, m.err = nil, runtime.ErrClosed
	}
}

// moduleServer serves the calls of one plugin from a module.
type moduleServer struct {
	module *module
	policy *hostfuncs.Policy
	limits runtime.Limits

	mu   sync.Mutex
	pool *runtime.Pool
}

var _ server = (*moduleServer)(nil)

func newModuleServer(m *module, p *hostfuncs.Policy, l runtime.Limits) *moduleServer {
	m.retain()
	return &moduleServer{module: m, policy: p, limits: l}
}

func (s *moduleServer) serve(ctx context.Context, c Call, r request, changed changedFunc) (json.RawMessage, error) {
	gate := s.policy.NewGate(gateCall(c, r, changed))
	defer gate.Close()
	pool, err := s.ready(ctx)
	if err != nil {
		return nil, newFailure(s.policy.Name(), c.ID, gate, notReady(err))
	}
	result, err := pool.Call(ctx, runtime.Request{Method: r.method, Params: r.params}, gate)
	if err != nil {
		return nil, newFailure(s.policy.Name(), c.ID, gate, err)
	}
	return result, nil
}

// ready returns the pool, which the first call makes.
func (s *moduleServer) ready(ctx context.Context) (*runtime.Pool, error) {
	compiled, err := s.module.get(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool == nil {
		s.pool = runtime.NewPool(compiled, s.module.dialect, s.limits)
	}
	return s.pool, nil
}

// notReady is the end of a call whose module could not be had.
func notReady(err error) error {
	end := &runtime.EndError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf("the plugin cannot be loaded: %v", err), Err: err}
	switch {
	case errors.Is(err, errReplaced):
		end.Message = "the plugin's " + err.Error()
	case errors.Is(err, context.Canceled):
		end.Kind, end.Message = runtime.KindCancelled, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		end.Kind, end.Message = runtime.KindDeadline, "the caller's time was over before the plugin was compiled"
	}
	return end
}

// close waits for the calls in progress and gives the module back.
func (s *moduleServer) close(ctx context.Context) error {
	s.mu.Lock()
	pool := s.pool
	s.mu.Unlock()
	var err error
	if pool != nil {
		err = pool.Close(ctx)
	}
	s.policy.Close()
	s.module.release()
	return err
}
