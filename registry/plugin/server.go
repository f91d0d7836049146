package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// moduleServer serves the calls of one plugin from a module.
type moduleServer struct {
	module  *Module
	policy  *hostfuncs.Policy
	limits  runtime.Limits
	classes []runtime.Limits // of the policy's classes
	state   runtime.State

	mu   sync.Mutex
	pool *runtime.Pool
}

var _ server = (*moduleServer)(nil)

func newModuleServer(m *Module, p *hostfuncs.Policy, l runtime.Limits, classes []runtime.Limits, s runtime.State) *moduleServer {
	m.Retain()
	return &moduleServer{module: m, policy: p, limits: l, classes: classes, state: s}
}

// stateOf returns the lifetime of a module's instances: the operator's setting, else the plugin's request. Only the
// operator can set one instance for all callers. Extism plugins often keep state in their instance, which is safe where
// each client has its own host: they get an instance per session.
func stateOf(m *Module, wanted runtime.State) runtime.State {
	asked := runtime.State(m.Manifest.State)
	switch {
	case wanted != "":
		return wanted
	case asked == runtime.StateSession, asked == runtime.StateFresh, asked == runtime.StateCall:
		return asked
	case m.Dialect.Name() == "extism":
		return runtime.StateSession
	}
	return runtime.StateCall
}

// answer runs one request in an instance of the module. The instance is back in its pool before the answer is returned.
func (s *moduleServer) answer(ctx context.Context, c catalog.Call, r catalog.Request, changed changedFunc) (*transaction, error) {
	if err := s.policy.Bind(c.Journal); err != nil {
		return nil, err
	}
	release, err := s.admit(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Settle, err = s.policy.Begin(ctx, c.Caller()); err != nil {
		release()
		return nil, err
	}
	gate := s.policy.NewGate(gateCall(c, r, changed))
	t := &transaction{plugin: s.policy.Name(), id: c.ID, gate: moduleGate{gate}, admit: release}
	defer t.abortUnanswered()
	pool, err := s.ready(ctx)
	if err != nil {
		return nil, t.Abort(notReady(err))
	}
	s.module.calls.Add(1)
	t.ctx, t.cancel = shortened(ctx, c.Timeout)
	answer, err := pool.Call(t.ctx, runtime.Request{Method: r.Method, Params: r.Params, Session: c.Session, Caller: c.Principal, Class: s.policy.Class(c.Caller()), Patient: c.Patient}, gate)
	if concluded := gate.Conclude(err); err == nil {
		err = concluded
	}
	gate.Keep(answer, err)
	if err != nil {
		return nil, t.Abort(err)
	}
	t.answer, t.answered = gate.Redact(answer), true
	return t, nil
}

// admit admits a call; a patient call waits until it is admitted.
func (s *moduleServer) admit(ctx context.Context, c catalog.Call) (release func(), err error) {
	for {
		release, err = s.policy.Admit(c.Caller())
		var ask *runtime.AskError
		if !c.Patient || !errors.As(err, &ask) || ask.RetryAfterMs <= 0 {
			return release, err
		}
		select {
		case <-time.After(time.Duration(ask.RetryAfterMs) * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// shortened applies the client's time limit.
func shortened(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// ready returns the pool, created by the first call.
func (s *moduleServer) ready(ctx context.Context) (*runtime.Pool, error) {
	compiled, err := s.module.Get(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool == nil {
		s.pool = runtime.NewPool(compiled, s.module.Dialect, &runtime.PoolOptions{
			Limits: s.limits, Classes: s.classes, State: s.state,
			Start: opened(s.policy.StartGate), Warm: opened(s.policy.WarmGate), Rehearsal: opened(s.policy.RehearsalGate), Cold: s.policy.WarmUpFailed,
		})
	}
	return s.pool, nil
}

// opened adapts a function that opens a gate to the runtime.
func opened(open func() *hostfuncs.Gate) func() (runtime.Gate, func()) {
	return func() (runtime.Gate, func()) {
		gate := open()
		return gate, gate.Close
	}
}

// notReady returns the error of a call with an unavailable module.
func notReady(err error) error {
	end := &runtime.EndError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf("the plugin cannot be loaded: %v", err), Err: err}
	switch {
	case errors.Is(err, ErrReplaced):
		end.Message = err.Error()
	case errors.Is(err, context.Canceled):
		end.Kind, end.Message = runtime.KindCancelled, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		end.Kind, end.Message = runtime.KindDeadline, "the deadline was exceeded before the plugin was compiled"
	}
	return end
}

// close waits for the calls in progress and releases the module.
func (s *moduleServer) close(ctx context.Context) error {
	s.mu.Lock()
	pool := s.pool
	s.mu.Unlock()
	var err error
	if pool != nil {
		err = pool.Close(ctx)
	}
	s.policy.Close()
	s.module.Release()
	return err
}
