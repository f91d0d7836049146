package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Dialect is a calling convention: how a request and its answer cross between host and guest.
type Dialect interface {
	// Name is one word: native, extism, command.
	Name() string
	// Serve takes one request through an instance and returns the guest's result. It is called from
	// many goroutines, each with an instance of its own, and keeps nothing of them afterwards. An
	// error is what Instance.Call gave, a *GuestError, or an *EndError for an answer that breaks the
	// contract; anything else counts as a fault of the host.
	Serve(ctx context.Context, in *Instance, req Request) (json.RawMessage, error)
}

// Starter is met by a Dialect whose guests have start-up code of their own.
type Starter interface {
	// Start runs it. It is called once for an instance, after the module's own start-up code, as Serve is.
	Start(ctx context.Context, in *Instance) error
}

// Warmer is met by a Dialect that knows a request which any guest may be asked before there are calls, with nobody to
// ask. What its code sets up when it runs first is then part of the image.
type Warmer interface {
	WarmUp() Request
}

// Request is what a guest is asked: a method and its params as raw JSON, nil if there are none.
type Request struct {
	Method string
	Params json.RawMessage
	// Session is whose instance serves it under StateSession; empty gets an instance of its own. Calls of
	// different sessions of a caller take turns.
	Session string
	// Caller is whose session that is. Callers take turns, and have a share each of what there is room for.
	Caller string
	// Patient has the call wait for its turn however long it takes and however many wait, and gives it the time
	// Limits.Task: nobody sits in front of it.
	Patient bool
}

// PoolOptions configure a Pool. A nil pointer means all defaults.
type PoolOptions struct {
	Limits Limits
	// State is how long an instance lives; empty is StateCall.
	State State
	// Start opens the gate under which the module starts, whenever a clean instance has to be made from
	// nothing. What it gives must be the same each time, and it grants nothing: every call begins with what
	// came of it. close is called when the module has started. A nil Start is no gate.
	Start func() (g Gate, close func())
}

// Pool serves the calls of one plugin. It owns the instances from their making to their end. It is
// safe for concurrent use.
type Pool struct {
	module  *Module
	dialect Dialect
	limits  Limits
	state   State
	begin   func() (Gate, func())
	queue   *queue
	calls   gauge           // calls that run or wait, and images that are made
	stop    context.Context // done when the calls in progress are to end
	cancel  context.CancelCauseFunc
	release func() error // gives the module back, once
	shelf   shelf
}

// drainGrace is how long Close waits for calls that it has cancelled: an interrupted guest stops
// within milliseconds.
const drainGrace = 2 * time.Second

// NewPool makes the pool of one plugin. The module stays usable until the pool is closed.
func NewPool(m *Module, d Dialect, o *PoolOptions) *Pool {
	var opts PoolOptions
	if o != nil {
		opts = *o
	}
	if opts.Start == nil {
		opts.Start = func() (Gate, func()) { return nil, func() {} }
	}
	l := opts.Limits.WithDefaults()
	p := &Pool{module: m, dialect: d, limits: l, state: opts.State, begin: opts.Start, queue: newQueue(l)}
	p.stop, p.cancel = context.WithCancelCause(context.Background())
	p.release = sync.OnceValue(m.release)
	if !m.retain() {
		p.calls.close()
		p.release = func() error { return nil }
	}
	return p
}

// Call serves one request; what the guest asks for goes to g, which may be nil for a guest that may
// ask for nothing. It waits for its turn if too many calls run, and is refused if too many wait; a call that
// another call makes, which ctx tells, never waits. The error is an *EndError, or a *GuestError if the
// guest answered with one.
func (p *Pool) Call(ctx context.Context, req Request, g Gate) (json.RawMessage, error) {
	if err := p.use(); err != nil {
		return nil, err
	}
	defer p.unuse()
	t := p.ticket(&req)
	// A call within a call does not wait: what it waits for could be waiting for it.
	if err := p.queue.enter(ctx, p.stop, t, callOf(ctx) == nil); err != nil {
		return nil, err
	}
	defer p.queue.leave(t)
	if t.ready != nil { // it waited: who came meanwhile gets in line before a guest takes the processor
		goruntime.Gosched()
	}
	if ctx.Err() != nil { // what is kept is not touched
		return nil, outOfTime(ctx, ctx.Err(), "")
	}
	k, err := p.keep(t)
	if err != nil {
		return nil, err
	}
	c := newCall(ctx, g, turn{pool: p, ticket: t}, p.limits, req.Patient)
	defer c.close()
	return p.serve(c, req, k)
}

func (p *Pool) ticket(req *Request) *ticket {
	t := &ticket{who: holder{req.Caller, req.Method == methodCallTool}, session: req.Session, patient: req.Patient}
	switch {
	case p.state == StatePlugin:
		t.kept = true
	case p.state == StateSession && req.Session != "":
		t.kept, t.instance = true, req.Session
	}
	return t
}

// use keeps the pool and its engine open, until unuse.
func (p *Pool) use() error {
	if ok, _ := p.calls.enter(-1); !ok {
		return &EndError{Kind: KindUnavailable, Message: "the plugin is not loaded any more", Err: ErrClosed}
	}
	if ok, _ := p.module.engine.users.enter(-1); !ok {
		p.calls.leave()
		return &EndError{Kind: KindUnavailable, Message: "the host is closing", Err: ErrClosed}
	}
	return nil
}

func (p *Pool) unuse() {
	p.module.engine.users.leave()
	p.calls.leave()
}

// serve runs one call in an instance, from its beginning to what becomes of the instance.
func (p *Pool) serve(c *callContext, req Request, k *keeper) (result json.RawMessage, err error) {
	in, back, err := p.instance(c, k)
	if err != nil {
		return nil, err
	}
	if in.call == nil {
		in.begin(c)
	}
	result, err = p.guarded(c, in, req)
	if err == nil && c.Err() != nil { // the guest knew, and answered all the same
		result, err = nil, outOfTime(c, c.Err(), "")
	}
	err = p.finish(c, err)
	report(c.gate, in)
	if intact := in.end(); intact {
		back(in)
	} else {
		in.close()
	}
	return result, err
}

// guarded lets no panic of a dialect take the host down.
func (p *Pool) guarded(ctx context.Context, in *Instance, req Request) (result json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			in.busy = true // nobody knows what state it is in
			end := hostFault(fmt.Errorf("%s dialect: %v", p.dialect.Name(), r))
			end.Stack = string(debug.Stack())
			result, err = nil, end
		}
	}()
	if err := in.reseed(ctx); err != nil {
		return nil, err
	}
	return p.dialect.Serve(ctx, in, req)
}

// finish makes sure that a call has one of the two kinds of error.
func (p *Pool) finish(ctx context.Context, err error) error {
	var end *EndError
	var guest *GuestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &end):
		return end
	case errors.As(err, &guest):
		return guest
	}
	return ended(ctx, err, nil)
}

// Close lets no more calls in and waits for those that run or wait. When ctx is done they are
// cancelled. Should a guest not stop even then, its error is returned and the guest keeps what it
// uses until it ends. Close may be called more than once.
func (p *Pool) Close(ctx context.Context) error {
	drained := p.calls.close()
	select {
	case <-drained:
	case <-ctx.Done():
		p.cancel(errDrained)
		select {
		case <-drained:
		case <-time.After(drainGrace):
			return fmt.Errorf("a guest did not stop: %w", context.Cause(ctx))
		}
	}
	p.cancel(errDrained)
	p.module.engine.kept.drop(p)
	p.shelf.close()
	return p.release()
}
