package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

// Rehearser is implemented by a Dialect whose guests cannot be expected to have a warm-up of their own.
type Rehearser interface {
	// Rehearsals returns calls with made-up arguments, for a guest that answered the WarmUp request with described. A
	// pool whose instances serve one call makes them before it takes the image; see Rehearsal.
	Rehearsals(described json.RawMessage) []Request
}

// Rehearsal is the outcome of calls with made-up arguments, made twice in one instance. They were answered as in
// instances of their own, so that the state they left shows in none of the answers. Calls that fail, compute for long or
// ask the host for anything are not a part of it.
type Rehearsal struct {
	Calls int
	// SameMemory reports whether the second time left memory and globals unchanged: the guest kept nothing of a call.
	SameMemory bool
}

// rehearsalFuel bounds one call of a rehearsal.
const rehearsalFuel = warmFuel / 8

// ErrDiffers is the reason to drop a rehearsal that shows in a later call.
var ErrDiffers = errors.New("calls are answered differently after others")

// ToolCalls returns a call of each tool that has a name, with arguments made from its schema.
func ToolCalls(tools []json.RawMessage) []Request {
	var calls []Request
	for _, tool := range tools {
		name := jsonraw.Get(tool, "name")
		if name == nil {
			continue
		}
		params := append(append([]byte(`{"name":`), name...), `,"arguments":`...)
		params = append(append(params, jsonschema.Example(jsonraw.Get(tool, "inputSchema"))...), '}')
		calls = append(calls, Request{Method: methodCallTool, Params: params})
	}
	return calls
}

// rehearsals returns the calls to rehearse in an instance: none for a guest with a warm-up of its own.
func (p *Pool) rehearsals(in *Instance, described json.RawMessage) []Request {
	r, ok := p.dialect.(Rehearser)
	if !ok || p.warmth.rehearsal == nil {
		return nil
	}
	if w, ok := p.dialect.(SelfWarmer); ok && in.HasExport(w.WarmExport()) {
		return nil
	}
	return r.Rehearsals(described)
}

// rehearse makes the calls in an instance. After an error its state must not be used.
func (p *Pool) rehearse(ctx context.Context, in *Instance, calls []Request) (r Rehearsal, err error) {
	if len(calls) == 0 {
		return r, nil
	}
	c := newStart(ctx, nil, Limits{Start: warmTime})
	defer c.close()
	calls, answers, err := p.alone(c, in, calls)
	if err != nil {
		return r, err
	}
	in.kept = true // the next call begins where this one ends
	defer func() { in.kept = false }()
	size := in.size()
	var memory []byte
	var values []value
	for range 2 {
		memory = bytes.Clone(in.memory.Bytes())
		if values, err = in.values(c); err != nil {
			return r, err
		}
		for i, call := range calls {
			answer, err := p.rehearseCall(c, in, call)
			if err != nil {
				return r, err
			}
			if answer != answers[i] {
				return r, ErrDiffers
			}
		}
	}
	if grown := in.size() - size; grown > warmGrowth {
		return r, fmt.Errorf("it added %s of memory, at most %s are allowed", bytesText(grown), bytesText(warmGrowth))
	}
	now, err := in.values(c)
	same := bytes.Equal(memory, in.memory.Bytes()) && slices.Equal(values, now)
	return Rehearsal{Calls: len(calls), SameMemory: same}, err
}

// alone makes each call in an instance of its own, a copy of in, and returns those that can be rehearsed, with their
// answers.
func (p *Pool) alone(c *callContext, in *Instance, calls []Request) (able []Request, answers []string, err error) {
	t, err := in.template(c)
	if err != nil {
		return nil, nil, err
	}
	defer t.close()
	for _, call := range calls {
		single, err := t.instance(c)
		if err != nil {
			return nil, nil, err
		}
		answer, err := p.rehearseCall(c, single, call)
		single.close()
		if c.Err() != nil {
			return nil, nil, c.Err()
		}
		if err == nil {
			able, answers = append(able, call), append(answers, answer)
		}
	}
	return able, answers, nil
}

// rehearseCall makes one call under a gate of its own; the answer may be an error of the guest. After an error the
// instance can only be closed.
func (p *Pool) rehearseCall(ctx context.Context, in *Instance, call Request) (answer string, err error) {
	g, closeGate := p.warmth.rehearsal()
	defer closeGate()
	c := newStart(ctx, g, Limits{Start: warmTime})
	defer c.close()
	in.begin(c)
	defer in.end()
	in.tank.fill(rehearsalFuel)
	result, err := p.guarded(c, in, call)
	if err = p.finish(c, err); in.phase != ready {
		return "", err
	}
	if err != nil {
		return err.Error(), nil
	}
	return string(result), nil
}

// Rehearse starts the guest and rehearses it, without effect on the pool's calls. The error is the reason why a pool
// would begin its calls without the rehearsal.
func (p *Pool) Rehearse() (r Rehearsal, err error) {
	if err := p.use(); err != nil {
		return r, err
	}
	defer p.unuse()
	if err := p.module.use(p.stop, p.stop); err != nil {
		return r, err
	}
	defer p.module.unuse()
	in, described, err := p.started(p.stop)
	if err != nil {
		return r, err
	}
	defer in.close()
	return p.rehearse(p.stop, in, p.rehearsals(in, described))
}
