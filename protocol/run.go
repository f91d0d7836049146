package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// runs performs a call.
type runs func(ctx context.Context, call catalog.Call) (jsonraw.Object, error)

// parsed combines a call with the parser of its answer.
func parsed(ask func(context.Context, catalog.Call) (json.RawMessage, error), read func(json.RawMessage) (jsonraw.Object, error)) runs {
	return func(ctx context.Context, call catalog.Call) (jsonraw.Object, error) {
		raw, err := ask(ctx, call)
		if err != nil {
			return nil, err
		}
		return read(raw)
	}
}

// runResumable performs a call to a catalog entry. In the modern era, a call to a plugin with kept state is parked where
// it asks, and r may continue a parked call.
func runResumable(ctx context.Context, r *request, entry interface{ Keeps(session string) bool }, call catalog.Call, run runs) (jsonraw.Object, error) {
	m := &r.resumption
	p := m.parked
	switch {
	case p != nil:
		answers := m.state.Pending
		m.parked, m.state.Pending = nil, nil
		p.GoOn(r, answers)
	case r.task != nil && r.task.Kept: // a task waits in its instance
		call.Journal = nil
		return run(ctx, call)
	case !r.call.Modern || !entry.Keeps(call.Session):
		return run(ctx, call)
	default:
		p = park(ctx, r, call, run)
	}
	o, asked, err := p.Wait(ctx)
	if asked != nil {
		m.pending, m.suspended, m.parked = asked, true, p
		return nil, errSuspended
	}
	return o, err
}

// park begins a call that suspends in its instance when it asks.
func park(ctx context.Context, r *request, call catalog.Call, run runs) *continuation.ParkedCall {
	return r.server.parking.Begin(ctx, r, func(ctx context.Context, p *continuation.ParkedCall) (_ jsonraw.Object, err error) {
		defer catch(&err)
		call.Client, call.Journal = p, nil // it is not replayed, so it has no journal
		return run(ctx, call)
	})
}
