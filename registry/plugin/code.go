package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Func serves the requests of a plugin that is built into this process: tools/call, prompts/get, resources/read and
// completion/complete with the plugin's local names. It must be safe for concurrent use. Errors should be
// *runtime.GuestError or *runtime.EndError; others are reported as internal errors of the host.
type Func func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// Code is a plugin built into this process: its manifest and its implementation.
type Code struct {
	Manifest *manifest.Manifest
	Serve    Func
	Skill    *document.Skill // the skill that the plugin is; nil for none
}

var _ server = (*codeServer)(nil)

type codeServer struct {
	call   Func
	policy *hostfuncs.Policy
}

// answer runs the function with a gate in its context, as a guest has one.
func (s *codeServer) answer(ctx context.Context, c catalog.Call, r catalog.Request, changed changedFunc) (*transaction, error) {
	if err := s.policy.Bind(c.Journal); err != nil {
		return nil, err
	}
	var err error
	if c.Settle, err = s.policy.Begin(ctx, c.Caller()); err != nil {
		return nil, err
	}
	g := &lazyGate{policy: s.policy, call: c, request: r, changed: changed}
	t := &transaction{plugin: s.policy.Name(), id: c.ID, gate: g, ctx: ctx}
	defer t.abortUnanswered()
	answer, err := s.call(runtime.WithGate(ctx, g), r.Method, r.Params)
	if err != nil {
		return nil, t.Abort(asEnd(err))
	}
	t.answer, t.answered = answer, true
	return t, nil
}

// lazyGate creates the gate of a call on first use: code of this process seldom needs it.
type lazyGate struct {
	policy  *hostfuncs.Policy
	call    catalog.Call
	request catalog.Request
	changed changedFunc

	mu     sync.Mutex
	made   *hostfuncs.Gate
	closed bool
}

var (
	_ callGate       = (*lazyGate)(nil)
	_ runtime.Gate   = (*lazyGate)(nil)
	_ runtime.Rounds = (*lazyGate)(nil)
	_ wasi.Host      = (*lazyGate)(nil)
)

// Ask forwards to the gate.
func (g *lazyGate) Ask(ctx context.Context, method string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	return g.open().Ask(ctx, method, params, s)
}

// AskRound forwards to the gate.
func (g *lazyGate) AskRound(ctx context.Context, round []runtime.Question, s runtime.Streams) []runtime.Answer {
	return g.open().AskRound(ctx, round, s)
}

// WASI returns the WASI state of the call.
func (g *lazyGate) WASI() *wasi.State { return g.open().WASI() }

func (g *lazyGate) open() *hostfuncs.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made == nil {
		g.made = g.policy.NewGate(gateCall(g.call, g.request, g.changed))
		if g.closed {
			g.made.Close()
		}
	}
	return g.made
}

func (g *lazyGate) used() *hostfuncs.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.made
}

func (g *lazyGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.made != nil {
		g.made.Close()
	}
}

func (s *codeServer) close(context.Context) error {
	s.policy.Close()
	return nil
}

// asEnd converts an error of built-in code to a *runtime.EndError or *runtime.GuestError.
func asEnd(err error) error {
	var end *runtime.EndError
	var guest *runtime.GuestError
	switch {
	case errors.As(err, &end), errors.As(err, &guest):
		return err
	case errors.Is(err, context.Canceled):
		return &runtime.EndError{Kind: runtime.KindCancelled, Message: "the call was cancelled", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &runtime.EndError{Kind: runtime.KindDeadline, Message: "the deadline was exceeded", Err: err}
	}
	return &runtime.EndError{Kind: runtime.KindInternal, Message: "the host failed while it served this call", Err: err}
}
