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

// Dialect is an ABI: the convention by which a request and its result cross between host and guest.
type Dialect interface {
	// Name is one word: native, extism, command.
	Name() string
	// Serve passes one request to an instance and returns the guest's result. It is called from many goroutines, each
	// with its own instance, and must not keep any of its arguments. The error is one from Instance.Call, a
	// *GuestError, or an *EndError for a result that violates the contract; any other error is a fault of the host.
	Serve(ctx context.Context, in *Instance, req Request) (json.RawMessage, error)
}

// Starter is implemented by a Dialect whose guests have additional start-up code.
type Starter interface {
	// Start runs that code once for each new instance, after the module's own start-up code, under the rules of Serve.
	Start(ctx context.Context, in *Instance) error
}

// Binder is implemented by a Dialect that reads a module once, for all calls of a pool.
type Binder interface {
	// Bind returns the dialect that serves the module.
	Bind(m *Module) Dialect
}

// Ender is implemented by a Dialect whose guests end with their call: under no State is an instance kept.
type Ender interface {
	Ends()
}

// Request is a request to a guest: a method and its params as raw JSON, nil if absent.
type Request struct {
	Method string
	Params json.RawMessage
	// Session selects the kept instance under StateSession; calls without one get a clean instance. The sessions of a
	// caller take turns.
	Session string
	// Caller is the principal of the session. Callers take turns, and each has a share of the capacity.
	Caller string
	// Class is the number of the caller's class in PoolOptions.Classes, from 1; 0 is none.
	Class int
	// Patient makes the call wait for its turn without limits on time or queue length, under Limits.Task in place of
	// Limits.Deadline: no person waits for its result.
	Patient bool
}

// PoolOptions configures a Pool. A nil pointer means all defaults.
type PoolOptions struct {
	Limits Limits
	// Classes are the limits of classes of callers. A zero field is that of Limits, or of Wait the one that results for
	// Limits. Concurrency and Queue bound the calls of the class together, among those of the pool.
	Classes []Limits
	// State is the lifetime of an instance; empty means StateCall.
	State State
	// Start opens the gate for the start of the module, whenever an image is built. It must be deterministic and grant
	// nothing, since every call begins with the resulting state. close is called after the start. A nil Start means no
	// gate.
	Start func() (g Gate, close func())
	// Warm opens the gate for the guest's own warm-up (see SelfWarmer), under the rules of Start. It must also refuse
	// random numbers, since every call would have the same. A nil Warm means no gate.
	Warm func() (g Gate, close func())
	// Rehearsal opens the gate for a rehearsal (see Rehearser), under the rules of Warm. It must also end a guest that
	// reads a file or asks for anything, since the answer could stay with the guest. A nil Rehearsal means none.
	Rehearsal func() (g Gate, close func())
	// Cold is called with the reason when the guest's own warm-up, or that of a Greeter, failed, and the image was taken
	// without it. It may be nil.
	Cold func(reason error)
}

// Pool serves the calls of one plugin. It owns the instances for their whole lifetime. It is safe for concurrent use.
type Pool struct {
	module  *code
	dialect Dialect
	terms   []*terms // by class
	room    uint64   // largest Memory of terms
	state   State
	queue   *queue
	calls   gauge           // calls that run or wait, and images being built
	stop    context.Context // done when the calls in progress must end
	cancel  context.CancelCauseFunc
	release func() error // releases the module, once
	shelf   shelf
	leads   leads
	warmth  warmth
}

// drainGrace is how long Close waits for calls that it has cancelled: an interrupted guest stops within milliseconds.
const drainGrace = 2 * time.Second

// NewPool makes the pool of one plugin. The module stays usable until the pool is closed.
func NewPool(m *Module, d Dialect, o *PoolOptions) *Pool {
	var opts PoolOptions
	if o != nil {
		opts = *o
	}
	for _, open := range []*func() (Gate, func()){&opts.Start, &opts.Warm} {
		if *open == nil {
			*open = func() (Gate, func()) { return nil, func() {} }
		}
	}
	if opts.Cold == nil {
		opts.Cold = func(error) {}
	}
	all := termsOf(opts.Limits, opts.Classes)
	if b, ok := d.(Binder); ok {
		d = b.Bind(m)
	}
	if _, ends := d.(Ender); opts.State == "" || ends && opts.State != StateFresh {
		opts.State = StateCall
	}
	p := &Pool{module: m.code, dialect: d, terms: all, state: opts.State, queue: newQueue(all),
		warmth: warmth{start: opts.Start, own: opts.Warm, rehearsal: opts.Rehearsal, cold: opts.Cold}}
	for _, t := range all {
		p.room = max(p.room, t.Memory)
	}
	p.queue.load = &m.code.engine.work
	p.stop, p.cancel = context.WithCancelCause(context.Background())
	p.release = sync.OnceValue(func() error { return p.module.release(&p.shelf) })
	if !m.lend(&p.shelf) {
		p.calls.close()
		p.release = func() error { return nil }
	}
	return p
}

// Call serves one request. Guest requests go to g, which may be nil for a guest without grants. Call waits for its
// turn if too many calls run, and is rejected if too many wait. A nested call, recognized by ctx, never waits. The
// error is an *EndError, or a *GuestError if the guest returned one.
func (p *Pool) Call(ctx context.Context, req Request, g Gate) (json.RawMessage, error) {
	if err := p.use(); err != nil {
		return nil, err
	}
	defer p.unuse()
	t := p.ticket(&req)
	// A nested call does not wait, to avoid a deadlock with the call that it waits for.
	if err := p.queue.enter(ctx, p.stop, t, callOf(ctx) == nil); err != nil {
		return nil, err
	}
	defer p.queue.leave(t)
	if t.wait != nil { // after a wait: let new calls enter the queue before a guest occupies the processor
		goruntime.Gosched()
	}
	if ctx.Err() != nil { // leave kept instances untouched
		return nil, outOfTime(ctx, ctx.Err(), "")
	}
	if err := p.module.use(ctx, p.stop); err != nil {
		return nil, err
	}
	defer p.module.unuse()
	k, err := p.keep(t)
	if err != nil {
		return nil, err
	}
	c := newCall(ctx, g, turn{pool: p, ticket: t}, p.terms[req.Class], req.Patient)
	defer c.close()
	return p.serve(c, req, k)
}

// Prepare loads the module and builds the image ahead of the first call. When ctx is done, that is given up, unless a call
// waits for it.
func (p *Pool) Prepare(ctx context.Context) error {
	if err := p.use(); err != nil {
		return err
	}
	defer p.unuse()
	if err := p.module.use(ctx, p.stop); err != nil {
		return err
	}
	defer p.module.unuse()
	if p.state == StateFresh {
		return nil
	}
	_, err := p.template(ctx, &p.shelf, false)
	return err
}

func (p *Pool) ticket(req *Request) *ticket {
	t := &ticket{who: holder{req.Caller, req.Method == methodCallTool, req.Class}, session: req.Session, patient: req.Patient}
	switch {
	case p.state == StatePlugin:
		t.kept = true
	case p.state == StateSession && req.Session != "":
		t.kept, t.instance = true, req.Session
	}
	return t
}

// use keeps the pool and its engine open until unuse.
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

// serve runs one call in an instance, and keeps or closes the instance afterwards.
func (p *Pool) serve(c *callContext, req Request, k *keeper) (result json.RawMessage, err error) {
	used := k != nil && k.in != nil
	in, of, err := p.instance(c, req, k)
	if err != nil {
		return nil, err
	}
	if err := in.under(c.terms, used); err != nil {
		in.close()
		return nil, err
	}
	if in.call == nil {
		in.begin(c)
	}
	in.kept = k != nil
	result, err = p.guarded(c, in, req)
	if err == nil && c.Err() != nil { // a result after the deadline is discarded
		result, err = nil, outOfTime(c, c.Err(), "")
	}
	err = p.finish(c, err)
	report(c.gate, in)
	switch left := in.end(); {
	case left == ready, left == exited && k == nil:
		p.giveBack(in, of, k)
	default:
		in.close()
		if k != nil && err == nil {
			p.module.engine.kept.note(k.key, "it ended after its last answer")
		}
	}
	return result, err
}

// guarded recovers from panics of a dialect.
func (p *Pool) guarded(ctx context.Context, in *Instance, req Request) (result json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			in.phase = running // its state is undefined
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

// finish converts the error of a call to an *EndError or a *GuestError.
func (p *Pool) finish(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var end *EndError
	var guest *GuestError
	switch {
	case errors.As(err, &end):
		return end
	case errors.As(err, &guest):
		return guest
	}
	return ended(ctx, err, nil)
}

// Close rejects new calls and waits for those that run or wait. When ctx is done they are cancelled. If a guest does
// not stop even then, Close returns an error and the guest keeps its resources until it ends. Close may be called more
// than once.
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
	p.closeLeads()
	return p.release()
}
