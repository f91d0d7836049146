package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
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

// Request is what a guest is asked: a method and its params as raw JSON, nil if there are none.
type Request struct {
	Method string
	Params json.RawMessage
}

// Pool serves the calls of one plugin, each in an instance that no other call has touched. It owns
// the instances from their making to their end. It is safe for concurrent use.
type Pool struct {
	module  *Module
	dialect Dialect
	limits  Limits
	slots   chan struct{}   // one token for each call that runs
	calls   gauge           // calls that run or wait
	paused  atomic.Int32    // of them, those that wait for a person, a model or the client
	stop    context.Context // done when the calls in progress are to end
	cancel  context.CancelCauseFunc
	release func() error // gives the module back, once
}

// drainGrace is how long Close waits for calls that it has cancelled: an interrupted guest stops at
// its next loop, within milliseconds.
const drainGrace = 2 * time.Second

// NewPool makes the pool of one plugin. The module stays usable until the pool is closed.
func NewPool(m *Module, d Dialect, l Limits) *Pool {
	l = l.WithDefaults()
	p := &Pool{module: m, dialect: d, limits: l, slots: make(chan struct{}, l.Concurrency)}
	p.stop, p.cancel = context.WithCancelCause(context.Background())
	p.release = sync.OnceValue(m.release)
	if !m.retain() {
		p.calls.close()
		p.release = func() error { return nil }
	}
	return p
}

// Call serves one request; what the guest asks for goes to g, which may be nil for a guest that may
// ask for nothing. It waits for its turn if too many calls run, and is refused if too many wait.
// The error is an *EndError, or a *GuestError if the guest answered with one.
func (p *Pool) Call(ctx context.Context, req Request, g Gate) (json.RawMessage, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.calls.leave()
	if err := p.await(ctx); err != nil {
		return nil, err
	}
	c := newCall(ctx, g, turn{pool: p, held: true}, p.limits)
	defer c.turn.close()
	defer c.close()
	return p.serve(c, req)
}

// await takes a place among the calls that run. A call that another call makes does not wait: what it waits
// for could be waiting for it.
func (p *Pool) await(ctx context.Context) error {
	if callOf(ctx) != nil {
		select {
		case p.slots <- struct{}{}:
			return nil
		default:
			return &EndError{Kind: KindLimit, Message: fmt.Sprintf("a call within a call does not wait: %d run already", p.limits.Concurrency)}
		}
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return outOfTime(ctx, ctx.Err(), "")
	case <-p.stop.Done():
		return outOfTime(p.stop, p.stop.Err(), "")
	}
}

// enter counts the call in, or says why not.
func (p *Pool) enter() error {
	queue := max(p.limits.Queue, 0)
	ok, closed := p.calls.enter(p.limits.Concurrency + queue + int(p.paused.Load()))
	switch {
	case closed:
		return &EndError{Kind: KindUnavailable, Message: "the plugin is not loaded any more", Err: ErrClosed}
	case !ok:
		return &EndError{Kind: KindLimit, Message: fmt.Sprintf("too many calls: %d run and %d wait",
			p.limits.Concurrency, queue)}
	}
	return nil
}

// serve runs one call from a fresh instance to its end.
func (p *Pool) serve(ctx *callContext, req Request) (result json.RawMessage, err error) {
	if ok, _ := p.module.engine.users.enter(-1); !ok {
		return nil, &EndError{Kind: KindUnavailable, Message: "the host is closing", Err: ErrClosed}
	}
	defer p.module.engine.users.leave()
	defer context.AfterFunc(p.stop, func() { ctx.end(errDrained) })()

	in, err := p.module.instantiate(ctx, p.limits)
	if err != nil {
		return nil, err
	}
	defer in.close()
	result, err = p.guarded(ctx, in, req)
	if err == nil && ctx.Err() != nil { // the guest knew, and answered all the same
		return nil, outOfTime(ctx, ctx.Err(), "")
	}
	return result, p.finish(ctx, err)
}

// guarded lets no panic of a dialect take the host down.
func (p *Pool) guarded(ctx context.Context, in *Instance, req Request) (result json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			end := hostFault(fmt.Errorf("%s dialect: %v", p.dialect.Name(), r))
			end.Stack = string(debug.Stack())
			result, err = nil, end
		}
	}()
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
	return p.release()
}
