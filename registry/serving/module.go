package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/module"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// moduleServer serves the calls of one plugin from a module.
type moduleServer struct {
	module *module.Module
	policy *hostfuncs.Policy
	limits runtime.Limits
	state  runtime.State

	mu   sync.Mutex
	pool *runtime.Pool
}

var _ server = (*moduleServer)(nil)

func newModuleServer(m *module.Module, p *hostfuncs.Policy, l runtime.Limits, s runtime.State) *moduleServer {
	m.Retain()
	return &moduleServer{module: m, policy: p, limits: l, state: s}
}

// stateOf is how long instances of a module live: as the operator says, or else as the plugin asks. One instance for
// all callers is the operator's to give. Extism plugins often keep something in theirs, as they may where each
// client has its own host: so each session has its own instance.
func stateOf(m *module.Module, wanted runtime.State) runtime.State {
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

func (s *moduleServer) serve(ctx context.Context, c catalogue.Call, r catalogue.Request, changed changedFunc) (json.RawMessage, error) {
	if err := s.policy.Bind(c.Journal); err != nil {
		return nil, err
	}
	release, err := s.admit(ctx, c)
	if err != nil {
		return nil, err
	}
	defer release()
	gate := s.policy.NewGate(gateCall(c, r, changed))
	defer gate.Close()
	pool, err := s.ready(ctx)
	if err != nil {
		return nil, newFailure(s.policy.Name(), c.ID, gate, notReady(err))
	}
	ctx, cancel := shortened(ctx, c.Params)
	defer cancel()
	result, err := pool.Call(ctx, runtime.Request{Method: r.Method, Params: r.Params, Session: c.Session, Caller: c.Principal, Patient: c.Patient}, gate)
	if concluded := gate.Conclude(err); err == nil {
		err = concluded
	}
	if err != nil {
		return nil, newFailure(s.policy.Name(), c.ID, gate, err)
	}
	result = gate.Redact(result)
	if err := settle(ctx, c, gate, result); err != nil {
		return nil, newFailure(s.policy.Name(), c.ID, gate, err)
	}
	return result, nil
}

// admit lets a call in; a patient one waits until it may.
func (s *moduleServer) admit(ctx context.Context, c catalogue.Call) (release func(), err error) {
	for {
		release, err = s.policy.Admit(c.Principal)
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

// timeoutMember is where a caller says how many milliseconds it waits; the plugin's own deadline holds all the same.
const timeoutMember = "dev.sallyport/timeoutMs"

func shortened(ctx context.Context, params json.RawMessage) (context.Context, context.CancelFunc) {
	ms, err := strconv.ParseUint(string(rawjson.Get(params, "_meta", timeoutMember)), 10, 31)
	if err != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
}

// ready returns the pool, which the first call makes.
func (s *moduleServer) ready(ctx context.Context) (*runtime.Pool, error) {
	compiled, err := s.module.Get(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool == nil {
		s.pool = runtime.NewPool(compiled, s.module.Dialect, &runtime.PoolOptions{Limits: s.limits, State: s.state, Start: s.start})
	}
	return s.pool, nil
}

// start opens the gate under which instances start.
func (s *moduleServer) start() (runtime.Gate, func()) {
	gate := s.policy.StartGate()
	return gate, gate.Close
}

// notReady is the end of a call whose module could not be had.
func notReady(err error) error {
	end := &runtime.EndError{Kind: runtime.KindUnavailable, Message: fmt.Sprintf("the plugin cannot be loaded: %v", err), Err: err}
	switch {
	case errors.Is(err, module.ErrReplaced):
		end.Message = err.Error()
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
	s.module.Release()
	return err
}
