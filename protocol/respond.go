package protocol

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/idempotency"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// idPrefix is the start of every response, up to the id.
const idPrefix = `{"jsonrpc":"2.0","id":`

// respond converts the outcome of a handler to a response. Nothing is sent for the request afterwards.
func (r *request) respond(ctx context.Context, body []byte, err error) Response {
	r.stream.Finish()
	resp := r.response(ctx, body, err)
	r.finish(&resp, err)
	return resp
}

// response returns the response of a request whose stream is finished.
func (r *request) response(ctx context.Context, body []byte, err error) Response {
	resp := Response{Body: body, Modern: r.call.Modern, Initialized: r.initialized}
	if r.stream.Stopped() || ctx.Err() == context.Canceled {
		resp = Response{Modern: r.call.Modern}
		r.settle(&resp, context.Canceled)
		return resp
	}
	if err != nil {
		resp.Body, resp.Err = r.fail(err)
		resp.Busy, resp.Quota, resp.Scopes = result.Busy(err), result.OverQuota(err), r.lacking(err)
	}
	r.settle(&resp, err)
	return resp
}

// lacking returns Response.Scopes of the error of a request, nil if it lacks no scope.
func (r *request) lacking(err error) []string {
	var lacks *catalog.ScopeError
	if !errors.As(err, &lacks) {
		return nil
	}
	all := slices.Concat(lacks.Scopes, r.server.catalog.Snapshot().Scopes(r.caller.Scopes))
	slices.Sort(all)
	return slices.Compact(all)
}

// abandon cancels the request and stops its messages to the client.
func (r *request) abandon() {
	r.stream.Stop()
	r.stop()
}

// settle ends the use of the requestState in the request. The answer is kept for retries. A run that failed without
// effects releases the state for a new attempt.
func (r *request) settle(resp *Response, err error) {
	use := r.resumption.use
	if use == nil {
		return
	}
	tail, ok := bytes.CutPrefix(resp.Body, append([]byte(idPrefix), r.call.ID...))
	switch {
	case resp.Busy > 0, // not started
		err != nil && !errors.Is(err, hostfuncs.ErrSuspended) && r.task == nil && len(r.changed()) == 0:
		if err := use.Release(); err != nil {
			r.log.Warn("a requestState cannot be freed", "call", r.id, "error", err, r.trace.Attr())
		}
	case ok:
		use.Settle(&continuation.Reply{Tail: tail, Err: resp.Err})
	default:
		use.Settle(nil)
	}
}

// fail turns the error of a request into its response. The returned error is nil for a result.
//
//	a task of a lost process     see failTask
//	a call that asks its client  see failAsking
//	other errors                 see answer.failed
func (r *request) fail(err error) ([]byte, *jsonrpc.Error) {
	var guest *runtime.GuestError
	if errors.As(err, &guest) {
		r.clean(guest)
	}
	if body, wire, ok := failTask(r, err); ok {
		return body, wire
	}
	if body, wire, ok := r.failAsking(err); ok {
		return body, wire
	}
	return r.failed(err, r.resumption.journal)
}

// failAsking answers a request that ended because of its questions, or returns ok false.
func (r *request) failAsking(err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	var used *continuation.UsedError
	var asks *idempotency.AsksError
	switch {
	case errors.As(err, &asks):
		return r.prepared(asks.Result), nil, true
	case errors.Is(err, hostfuncs.ErrSuspended) && r.resumption.suspended:
		raw, err := r.resumption.inputRequest(r.id, r.minted)
		if err != nil {
			body, wire = r.errorReply(r.bug(err))
			return body, wire, true
		}
		return r.prepared(raw), nil, true
	case errors.As(err, &used):
		body = append(append([]byte(idPrefix), r.call.ID...), used.Reply.Tail...)
		return body, used.Reply.Err, true
	case errors.Is(err, journal.ErrOther):
		body, wire = r.errorReply(jsonrpc.InvalidParams("%v", continuation.ErrOtherBuild))
		return body, wire, true
	}
	return nil, nil, false
}
