package protocol

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// callTool serves tools/call.
func callTool(ctx context.Context, r *request) ([]byte, error) {
	if err := r.call.CheckKeys(); err != nil {
		return nil, err
	}
	if body, done, err := callSearch(ctx, r); done || err != nil {
		return body, err
	}
	name, err := r.call.Text("name")
	if err != nil {
		return nil, err
	}
	t, v, ok := find(ctx, r, func(s *catalog.Snapshot) (*catalog.Tool, bool) { return s.Tool(name) })
	if !ok {
		return nil, noTool(r, name)
	}
	if scopes := t.Lacking(r.caller); scopes != nil { // before a task is opened
		return nil, catalog.LacksScope("the tool "+t.Name, scopes)
	}
	if body, done, err := callAsTask(ctx, r, t); done || err != nil {
		return body, err
	}
	call, err := r.forward(t.Name)
	if err != nil {
		return nil, err
	}
	if err := checkArguments(v, t, jsonraw.Get(r.call.Params, "arguments")); err != nil {
		return nil, err
	}
	w, err := wishes(r)
	if err != nil {
		return nil, err
	}
	o, err := callToolOnce(ctx, r, t, call, w)
	if err != nil {
		return nil, err
	}
	r.finishTool(&o)
	r.bound(&o, lower(operatorBound(t, r), w.MaxBytes), func(o jsonraw.Object) string {
		return r.server.keepWhole(ctx, r.conn.opts.Principal, r.id, o)
	})
	return r.frame(o, false), nil
}

// callToolOnce calls a tool, at most once if the call has an idempotency key.
func callToolOnce(ctx context.Context, r *request, t *catalog.Tool, call catalog.Call, w envelope.Wishes) (jsonraw.Object, error) {
	call.DryRun = w.DryRun
	run := func(ctx context.Context, call catalog.Call) (jsonraw.Object, error) { return runTool(ctx, t, call) }
	if w.Once == "" || w.DryRun {
		return runResumable(ctx, r, t, call, run)
	}
	keyed := call // call itself stays out of the closure, and off the heap
	return r.server.once().Do(ctx, keyedCall(r, t.Name, w.Once), func() (jsonraw.Object, error) {
		return runResumable(ctx, r, t, keyed, run)
	})
}

// errNoTool ends a task after the removal of its tool.
var errNoTool = errors.New("unknown tool")

func noTool(r *request, name string) error {
	if r.task != nil {
		r.subject = name
		return errNoTool
	}
	return jsonrpc.InvalidParams("unknown tool: %s%s", jsonrpc.Clip(name), r.soFar())
}

// lower returns the smaller of the operator's and the client's limits. 0 means no limit.
func lower(operator result.Bound, client int) result.Bound {
	if operator.Bytes == 0 || client != 0 && client < operator.Bytes {
		return result.Bound{Bytes: client, By: envelope.MaxBytes}
	}
	return operator
}

// operatorBound returns the operator's limit for the caller of a request.
func operatorBound(t *catalog.Tool, r *request) result.Bound {
	bytes, setting := t.Limit(r.caller)
	return result.Bound{Bytes: bytes, By: setting}
}

// runTool runs the tool. Its answer is cleaned too.
func runTool(ctx context.Context, t *catalog.Tool, call catalog.Call) (jsonraw.Object, error) {
	run, err := t.Run(ctx, call)
	if err != nil {
		return nil, err
	}
	return conclude(run, func(raw json.RawMessage) (jsonraw.Object, result.Cleaning, error) { return result.Tool(raw, t) })
}

// wishes reads the client's _meta options for the call. An idempotency key requires a store and a named caller.
func wishes(r *request) (envelope.Wishes, error) {
	w, err := r.call.Wishes()
	switch {
	case err != nil || w.Once == "":
	case r.server.opts.Store == nil:
		err = jsonrpc.InvalidParams("%s needs a host with a state folder", envelope.Once)
	case !identity.Named(r.conn.opts.Principal):
		err = jsonrpc.InvalidParams("%s needs a caller with a name", envelope.Once)
	}
	return w, err
}
