package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Leader is implemented by a Dialect of which some calls begin in an image of their own, behind a part of the guest's
// work that is the same in all of them.
type Leader interface {
	// Lead names the image in which a request begins; "" is that of the started module.
	Lead(req Request) string
	// LeadIn returns the request that brings a started instance there, under the gate of the start. If it fails, the calls
	// begin in the started module. It is repeated, in another instance, if it fails with ErrAgain.
	LeadIn(lead string) Request
}

// ErrAgain is the error of a first LeadIn request, or of a first warm-up of a Greeter, whose outcome the second one needs.
var ErrAgain = errors.New("the request is to be repeated")

// leadFuel bounds a LeadIn request, in units of fuel: a quarter of a second or so.
const leadFuel = 10 * warmFuel

// leads holds the shelves of the images of a Leader, by name.
type leads struct {
	mu   sync.Mutex
	of   map[string]*shelf
	none map[string]bool // the names whose LeadIn failed
}

// shelfFor returns the shelf for a request.
func (p *Pool) shelfFor(req Request) *shelf {
	d, ok := p.dialect.(Leader)
	if !ok {
		return &p.shelf
	}
	name := d.Lead(req)
	p.leads.mu.Lock()
	defer p.leads.mu.Unlock()
	switch {
	case name == "" || p.leads.none[name]:
		return &p.shelf
	case p.leads.of == nil:
		p.leads.of, p.leads.none = map[string]*shelf{}, map[string]bool{}
	}
	s := p.leads.of[name]
	if s == nil {
		s = &shelf{lead: name}
		p.leads.of[name] = s
		p.module.add(s)
	}
	return s
}

// closeLeads closes all shelves but the first. No call may be in progress.
func (p *Pool) closeLeads() {
	p.leads.mu.Lock()
	defer p.leads.mu.Unlock()
	for _, s := range p.leads.of {
		p.module.forget(s)
		s.close()
	}
}

// leadIn takes the image of a lead. If its request fails, that is reported once, and it takes the image of the started
// module.
func (p *Pool) leadIn(ctx context.Context, lead string) (*template, error) {
	in, err := p.led(ctx, lead)
	if errors.Is(err, ErrAgain) {
		in, err = p.led(ctx, lead)
	}
	if err == nil {
		defer in.close()
		return in.template(ctx)
	}
	if ctx.Err() != nil {
		return nil, outOfTime(ctx, ctx.Err(), "")
	}
	p.leads.mu.Lock()
	p.leads.none[lead] = true
	p.leads.mu.Unlock()
	p.warmth.cold(fmt.Errorf("%s: %w", lead, err))
	return p.build(ctx)
}

// led returns an instance that has served the LeadIn request.
func (p *Pool) led(ctx context.Context, lead string) (*Instance, error) {
	g, closeGate := p.warmth.start()
	defer closeGate()
	c := newStart(ctx, g, p.terms[0].Limits)
	defer c.close()
	in, err := p.module.fresh(c, p.terms[0], p.room, p.dialect)
	if err != nil {
		return nil, err
	}
	in.tank.fill(leadFuel)
	_, err = p.guarded(c, in, p.dialect.(Leader).LeadIn(lead))
	if !errors.Is(err, ErrAgain) {
		err = p.finish(c, err)
	}
	if left := in.end(); err == nil && left != ready {
		err = guestFault("it ended")
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}
