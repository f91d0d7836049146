package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// runs performs a call.
type runs func(ctx context.Context, call catalog.Call) (jsonraw.Object, error)

// starter runs a call up to its answer.
type starter func(ctx context.Context, call catalog.Call) (catalog.Run, error)

// parsed combines a call with the parser of its answer.
func parsed(start starter, read func(json.RawMessage) (jsonraw.Object, error)) runs {
	return func(ctx context.Context, call catalog.Call) (jsonraw.Object, error) {
		run, err := start(ctx, call)
		if err != nil {
			return nil, err
		}
		return conclude(run, func(raw json.RawMessage) (o jsonraw.Object, _ result.Cleaning, err error) {
			o, err = read(raw)
			return o, result.Cleaning{}, err
		})
	}
}

// conclude ends a run. Its answer is parsed before its writes are committed, so that a refused answer leaves none.
func conclude(run catalog.Run, read func(json.RawMessage) (jsonraw.Object, result.Cleaning, error)) (jsonraw.Object, error) {
	defer run.Abort(nil)
	o, cleaned, err := read(run.Answer())
	if err != nil {
		return nil, run.Abort(err)
	}
	if err := run.Commit(catalog.Verdict{Failed: result.Failed(o), Removed: cleaned.Removed, Hidden: cleaned.Hidden}); err != nil {
		return nil, err
	}
	return o, nil
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
	case !entry.Keeps(call.Session):
		return run(ctx, call)
	case !r.call.Modern:
		if err := r.conn.keep(ctx); err != nil {
			return nil, err
		}
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
