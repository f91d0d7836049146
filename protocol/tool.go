package protocol

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// callTool serves tools/call.
func callTool(ctx context.Context, r *request) ([]byte, error) {
	if err := r.call.CheckKeys(); err != nil {
		return nil, err
	}
	if body, done, err := r.searching(ctx); done || err != nil {
		return body, err
	}
	name, err := r.call.Text("name")
	if err != nil {
		return nil, err
	}
	t, v, ok := find(ctx, r, func(s *catalog.Snapshot) (*catalog.Tool, bool) { return s.Tool(name) })
	if !ok {
		return nil, r.noTool(name)
	}
	if body, done, err := r.asTask(ctx, t); done || err != nil {
		return body, err
	}
	call, err := r.forward(t.Name)
	if err != nil {
		return nil, err
	}
	if err := checkArguments(v, t, jsonraw.Get(r.call.Params, "arguments")); err != nil {
		return nil, err
	}
	w, err := r.wishes()
	if err != nil {
		return nil, err
	}
	o, err := r.serveTool(ctx, t, call, w)
	if err != nil {
		return nil, err
	}
	r.finishTool(&o)
	r.bound(ctx, &o, lower(t.Limit(), w.MaxBytes))
	return r.frame(o, false), nil
}

// serveTool calls a tool, at most once if the call has an idempotency key.
func (r *request) serveTool(ctx context.Context, t *catalog.Tool, call catalog.Call, w envelope.Wishes) (jsonraw.Object, error) {
	call.DryRun = w.DryRun
	run := func() (jsonraw.Object, error) {
		return r.serve(ctx, t, call, func(ctx context.Context, call catalog.Call) (jsonraw.Object, error) { return runTool(ctx, t, call) })
	}
	if w.Once == "" || w.DryRun {
		return run()
	}
	return r.server.once().Do(ctx, r.onceCall(t.Name, w.Once), run)
}

// errNoTool ends a task after the removal of its tool.
var errNoTool = errors.New("unknown tool")

func (r *request) noTool(name string) error {
	if r.task != nil {
		r.subject = name
		return errNoTool
	}
	return jsonrpc.InvalidParams("unknown tool: %s", jsonrpc.Clip(name))
}

// lower returns the smaller of the operator's and the client's limits. 0 means no limit.
func lower(operator, client int) result.Bound {
	if operator == 0 || client != 0 && client < operator {
		return result.Bound{Bytes: client, By: envelope.MaxBytes}
	}
	return result.Bound{Bytes: operator, By: "limits.output"}
}

// runTool runs the tool. Its answer is checked and cleaned before its writes are committed.
func runTool(ctx context.Context, t *catalog.Tool, call catalog.Call) (jsonraw.Object, error) {
	run, err := t.Run(ctx, call)
	if err != nil {
		return nil, err
	}
	defer run.Abort(nil)
	o, cleaned, err := result.Tool(run.Answer(), t)
	if err != nil {
		return nil, run.Abort(err)
	}
	if err := run.Commit(catalog.Verdict{Failed: result.Failed(o), Removed: cleaned.Removed, Hidden: cleaned.Hidden}); err != nil {
		return nil, err
	}
	return o, nil
}

// checkArguments validates the arguments against the input schema. Invalid arguments are a tool error for the
// model, not a protocol error.
func checkArguments(v *listing.View, t *catalog.Tool, args json.RawMessage) error {
	if jsonraw.IsNull(args) {
		args = json.RawMessage("{}")
	}
	if !jsonraw.IsObject(args) {
		return jsonrpc.InvalidParams("params.arguments must be an object")
	}
	if v.Free(t) {
		return nil
	}
	input, err := t.Input()
	if err != nil {
		return &runtime.EndError{Kind: runtime.KindGuest, Message: "the tool's input schema cannot be used: " + err.Error(), Err: err}
	}
	if input == nil {
		return nil
	}
	if err := input.Validate(args); err != nil {
		return &runtime.EndError{Kind: runtime.KindInvalid, Message: "invalid arguments: " + err.Error(), Err: err}
	}
	return nil
}

// finishTool completes a checked result. It adds structured content as text for clients that may not support it,
// and the denied effects of a failed call.
func (r *request) finishTool(o *jsonraw.Object) {
	result.Readable(o, !r.call.Modern)
	if !result.Failed(*o) {
		return
	}
	hints := r.hinted()
	if refused := hints.Block(result.Said(*o)); refused != nil {
		result.Add(o, refused)
	}
	if f := hints.Own(); f != nil {
		untrusted.SetMeta(o, result.ErrorMeta, f.Data(r.callID))
	}
}

// wishes reads the client's _meta options for the call. An idempotency key requires a store and a named caller.
func (r *request) wishes() (envelope.Wishes, error) {
	w, err := r.call.Wishes()
	switch {
	case err != nil || w.Once == "":
	case r.server.opts.Store == nil:
		err = jsonrpc.InvalidParams("%s needs a host with a state folder", envelope.Once)
	case r.conn.opts.Principal == anonymous:
		err = jsonrpc.InvalidParams("%s needs a caller with a name", envelope.Once)
	}
	return w, err
}
