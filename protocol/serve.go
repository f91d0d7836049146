package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/protocol/parked"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// runs performs a call.
type runs func(ctx context.Context, call catalogue.Call) (rawjson.Object, error)

// parsed is a call whose answer is read.
func parsed(ask func(context.Context, catalogue.Call) (json.RawMessage, error), read func(json.RawMessage) (rawjson.Object, error)) runs {
	return func(ctx context.Context, call catalogue.Call) (rawjson.Object, error) {
		raw, err := ask(ctx, call)
		if err != nil {
			return nil, err
		}
		return read(raw)
	}
}

// serve performs a call to an entry. In the modern era one whose plugin keeps its state waits where it asks, and r
// may go on with one that waits.
func (r *request) serve(ctx context.Context, entry interface{ Keeps(session string) bool }, call catalogue.Call, run runs) (rawjson.Object, error) {
	m := &r.resumption
	p := m.parked
	switch {
	case p != nil:
		answers := m.state.Pending
		m.parked, m.state.Pending = nil, nil
		p.GoOn(r, answers)
	case r.task != nil && r.task.Kept: // it waits where it asks, as a task
		call.Journal = nil
		return run(ctx, call)
	case !r.modern || !entry.Keeps(call.Session):
		return run(ctx, call)
	default:
		p = r.park(ctx, call, run)
	}
	o, asked, err := p.Wait(ctx)
	if asked != nil {
		m.pending, m.suspended, m.parked = asked, true, p
		return nil, errSuspended
	}
	return o, err
}

// park begins a call that waits where it asks.
func (r *request) park(ctx context.Context, call catalogue.Call, run runs) *parked.Call {
	return r.server.parking.Begin(ctx, r, func(ctx context.Context, p *parked.Call) (_ rawjson.Object, err error) {
		defer catch(&err)
		call.Client, call.Journal = p, nil // no journal: it is not run again
		return run(ctx, call)
	})
}
