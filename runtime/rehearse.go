package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// errEnded is the reason to drop a call behind whose answer the guest ended.
var errEnded = errors.New("the guest ended behind its answer")

// errRanOut is the reason to end a rehearsal whose time is over, or one of whose calls used up its fuel.
var errRanOut = errors.New("calls take too long")

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

// rounds are the calls of a rehearsal, all of which are made in each round, in one instance.
type rounds struct {
	pool    *Pool
	in      *Instance
	calls   []Request
	answers []string // of instances that served no other call
	size    uint64   // of the memory before the first round
	least   int64    // fuel of the round that took the least
	each    []int64  // fuel of each call of the last round
}

// rehearse makes the calls in two rounds in an instance, of which before is the image. After an error its state must not
// be used.
func (p *Pool) rehearse(c *callContext, in *Instance, before *template, calls []Request) (*rounds, Rehearsal, error) {
	calls, answers, err := p.alone(c, before, calls)
	if err != nil {
		return nil, Rehearsal{}, err
	}
	r := &rounds{pool: p, in: in, calls: calls, answers: answers, size: in.size(), least: math.MaxInt64}
	var memory []byte
	var values []value
	for range 2 {
		memory = bytes.Clone(in.memory.Bytes())
		if values, err = in.values(c); err != nil {
			return nil, Rehearsal{}, err
		}
		if _, err = r.round(c); err != nil {
			return nil, Rehearsal{}, err
		}
	}
	if grown := in.size() - r.size; grown > warmGrowth {
		return nil, Rehearsal{}, fmt.Errorf("it added %s of memory, at most %s are allowed", bytesText(grown), bytesText(warmGrowth))
	}
	now, err := in.values(c)
	same := bytes.Equal(memory, in.memory.Bytes()) && slices.Equal(values, now)
	return r, Rehearsal{Calls: len(calls), SameMemory: same}, err
}

// round makes each call, and returns the fuel spent. An answer that differs from the first one is an error.
func (r *rounds) round(c *callContext) (fuel int64, err error) {
	r.in.kept = true // the next call begins where this one ends
	defer func() { r.in.kept = false }()
	r.each = r.each[:0]
	for i, call := range r.calls {
		answer, err := r.pool.rehearseCall(c, r.in, call)
		if err != nil {
			return 0, err
		}
		if answer != r.answers[i] {
			return 0, ErrDiffers
		}
		r.each = append(r.each, r.in.tank.spent())
		fuel += r.in.tank.spent()
	}
	r.least = min(r.least, fuel)
	return fuel, nil
}

const (
	// calmRounds have to follow the image. Made-up arguments are small: the room that these rounds take is also that of
	// one call with larger ones.
	calmRounds = 6
	// dearShare is the part of a call's fuel by which another one has to differ. It is small: taking new pages of a heap is
	// few instructions, and slow ones.
	dearShare = 32
	// maxRounds and roundsFuel bound the rounds behind the second.
	maxRounds  = 20
	roundsFuel = warmFuel
)

// settle returns the image behind the second round, or behind a later one after which calls cost less: the heap of a
// language runtime is extended at some calls only, and an image shortly before one of them would have every clean call
// extend it. So rounds are made until calmRounds in a row add no memory and take little more fuel than another, and until
// no call in them is cheaper than in their first, which is like a clean one. The image is that before them. Fuel and memory
// are the same in every host, and so is the image. A round that runs out of time or fuel, as one in which a garbage
// collector runs, says nothing against the second one.
func (r *rounds) settle(c *callContext) (*template, error) {
	second, err := r.in.template(c)
	if err != nil {
		return nil, err
	}
	image, err := r.calm(c, second)
	if errors.Is(err, errRanOut) && c.parent.Err() == nil {
		image, err = second, nil
	}
	if image != second {
		second.close()
	}
	return image, err
}

// calm returns the image that calmRounds follow, or second if there is none.
func (r *rounds) calm(c *callContext, second *template) (*template, error) {
	image := second
	drop := func() {
		if image != second {
			image.close()
		}
	}
	var spent int64
	var first []int64 // fuel of each call of the round that began at the image
	for n, calm := 0, 0; n < maxRounds && spent < roundsFuel && r.in.size()-r.size <= warmGrowth; n++ {
		size := r.in.size()
		fuel, err := r.round(c)
		if err != nil {
			drop()
			return nil, err
		}
		spent += fuel
		if calm == 0 {
			first = slices.Clone(r.each)
		}
		if r.in.size() == size && fuel <= r.least+r.least/8 && !dearer(first, r.each) {
			if calm++; calm == calmRounds {
				return image, nil
			}
			continue
		}
		drop()
		if image, err = r.in.template(c); err != nil {
			return nil, err
		}
		calm = 0
	}
	drop()
	return second, nil
}

// dearer reports whether a call took clearly more fuel in one round than in another.
func dearer(in, than []int64) bool {
	for i, fuel := range in {
		if fuel > than[i]+than[i]/dearShare {
			return true
		}
	}
	return false
}

// alone makes each call in an instance of its own, and returns those that can be rehearsed, with their answers.
func (p *Pool) alone(c *callContext, t *template, calls []Request) (able []Request, answers []string, err error) {
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
	err = p.finish(c, err)
	switch {
	case ctx.Err() != nil || in.tank.empty():
		return "", errors.Join(errRanOut, err)
	case in.phase == ready && err == nil:
		return string(result), nil
	case in.phase == ready:
		return err.Error(), nil
	case err == nil:
		return "", errEnded
	}
	return "", err
}

// rehearsed takes the image of a started instance behind a rehearsal, or before it if that fails.
func (p *Pool) rehearsed(ctx context.Context, in *Instance, described json.RawMessage) (*template, error) {
	before, err := in.template(ctx)
	if err != nil || p.state != StateCall || p.warmth.noRehearsal.Load() {
		return before, err
	}
	calls := p.rehearsals(in, described)
	if len(calls) == 0 {
		return before, nil
	}
	image, reason := p.settled(ctx, in, before, calls)
	if reason != nil {
		if ctx.Err() != nil {
			before.close()
			return nil, outOfTime(ctx, ctx.Err(), "")
		}
		p.warmth.noRehearsal.Store(true)
		p.module.engine.log.Debug("the calls of a plugin begin without a rehearsal", "reason", reason)
		return before, nil
	}
	before.close()
	return image, nil
}

// settled rehearses an instance and returns the image behind that.
func (p *Pool) settled(ctx context.Context, in *Instance, before *template, calls []Request) (*template, error) {
	c := newStart(ctx, nil, Limits{Start: warmTime})
	defer c.close()
	r, _, err := p.rehearse(c, in, before, calls)
	if err != nil {
		return nil, err
	}
	return r.settle(c)
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
	calls := p.rehearsals(in, described)
	if len(calls) == 0 {
		return r, nil
	}
	before, err := in.template(p.stop)
	if err != nil {
		return r, err
	}
	defer before.close()
	c := newStart(p.stop, nil, Limits{Start: warmTime})
	defer c.close()
	_, r, err = p.rehearse(c, in, before, calls)
	return r, err
}
