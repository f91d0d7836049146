package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Warmer is implemented by a Dialect with a request that any guest can serve before its first call, without consent
// prompts. State that its code initializes on first use then becomes part of the image.
type Warmer interface {
	WarmUp() Request
}

// Greeter is implemented by a Warmer whose warm-up is a handshake, without which each call begins with it: it may take
// longer. A warm-up that fails with ErrAgain is followed by another one, in another instance.
type Greeter interface {
	Warmer
	// GreetFuel bounds the warm-up in place of the usual bound, in units of fuel.
	GreetFuel() uint64
}

// SelfWarmer is implemented by a Dialect whose guests may have a warm-up of their own, which runs once before the image
// is taken.
type SelfWarmer interface {
	// WarmExport names the function, of type () -> i32, that such a guest exports. Its result is 0 for success.
	WarmExport() string
}

const (
	// warmFuel bounds each warm-up by fuel, so that its outcome is the same on every machine: some 40 ms of a plain
	// loop, 15 ms of a Go guest, whose fuel counts all branches.
	warmFuel = 500_000_000
	// warmTime bounds the guest's own warm-up if it waits for something.
	warmTime = 2 * time.Second
	// warmGrowth bounds the memory that the guest's own warm-up adds to every instance, in bytes.
	warmGrowth = 16 << 20
)

// warmth is what a pool needs to build warm images: the gates of the start, of the guest's own warm-up and of a
// rehearsal, and the failed warm-ups, which are not tried again.
type warmth struct {
	start, own func() (Gate, func())
	rehearsal  func() (Gate, func()) // nil for none
	cold       func(reason error)

	noRequest, noOwn, noRehearsal atomic.Bool
}

// build starts the module, warms it up, and takes the image. The state of a guest whose own warm-up failed is undefined,
// so the image is then built again without that warm-up.
func (p *Pool) build(ctx context.Context) (*template, error) {
	in, described, err := p.started(ctx)
	if err != nil {
		return nil, err
	}
	if !p.warmth.noOwn.Load() {
		if reason := p.warmOwn(ctx, in); reason != nil {
			in.close()
			if ctx.Err() != nil {
				return nil, outOfTime(ctx, ctx.Err(), "")
			}
			p.warmth.noOwn.Store(true)
			p.warmth.cold(reason)
			return p.build(ctx)
		}
	}
	defer in.close()
	return p.rehearsed(ctx, in, described)
}

// started returns an instance that was started under the gate for it, and has served the dialect's warm-up request, with
// the answer.
func (p *Pool) started(ctx context.Context) (_ *Instance, described json.RawMessage, err error) {
	g, closeGate := p.warmth.start()
	defer closeGate()
	c := newStart(ctx, g, p.terms[0].Limits)
	defer c.close()
	in, err := p.module.fresh(c, p.terms[0], p.room, p.dialect)
	if err != nil {
		return nil, nil, err
	}
	if w, ok := p.dialect.(Warmer); ok && !p.warmth.noRequest.Load() {
		described, err = p.warmUp(c, in, w)
	}
	if in.end() == ready {
		return in, described, nil
	}
	in.close()
	if ctx.Err() != nil {
		return nil, nil, outOfTime(ctx, ctx.Err(), "")
	}
	p.warmth.noRequest.Store(!errors.Is(err, ErrAgain))
	return p.started(ctx)
}

// warmUp runs the dialect's warm-up and returns its result. An error shows in in.phase, if it is one.
func (p *Pool) warmUp(c *callContext, in *Instance, w Warmer) (json.RawMessage, error) {
	g, greets := w.(Greeter)
	if !greets {
		in.tank.fill(warmFuel)
		result, _ := p.guarded(c, in, w.WarmUp())
		return result, nil
	}
	in.tank.fill(g.GreetFuel())
	result, err := p.guarded(c, in, w.WarmUp())
	if err != nil {
		in.phase = running
	}
	switch {
	case errors.Is(err, ErrAgain):
		p.module.engine.log.Debug("the warm-up of a plugin is repeated", "reason", err)
	case err != nil:
		p.warmth.cold(err)
	}
	return result, err
}

// warmOwn runs the guest's own warm-up, if it has one. After an error the instance can only be closed.
func (p *Pool) warmOwn(ctx context.Context, in *Instance) (err error) {
	w, ok := p.dialect.(SelfWarmer)
	if !ok || !in.HasExport(w.WarmExport()) {
		return nil
	}
	if err := in.Check(w.WarmExport(), nil, []ValueType{I32}); err != nil {
		return err
	}
	g, closeGate := p.warmth.own()
	defer closeGate()
	c := newStart(ctx, g, Limits{Start: warmTime})
	defer c.close()
	size := in.size()
	in.begin(c)
	defer in.end()
	in.tank.fill(warmFuel)
	code, err := in.Call(c, w.WarmExport())
	switch grown := in.size() - size; {
	case c.Err() != nil && ctx.Err() == nil:
		return &EndError{Kind: KindDeadline, Message: fmt.Sprintf("it took longer than %s", warmTime), Err: err}
	case err != nil:
		return err
	case code != 0:
		return guestFault("it ended with %d", uint32(code))
	case grown > warmGrowth:
		return &EndError{Kind: KindLimit, Message: fmt.Sprintf("it added %s of memory, at most %s are allowed", bytesText(grown), bytesText(warmGrowth))}
	}
	return nil
}
