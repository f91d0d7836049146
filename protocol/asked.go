package protocol

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/idempotency"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// idPrefix is the start of every response, up to the id.
const idPrefix = `{"jsonrpc":"2.0","id":`

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
			r.server.log.Warn("a requestState cannot be freed", "call", r.callID, "error", err)
		}
	case ok:
		use.Settle(&continuation.Reply{Tail: tail, Err: resp.Err})
	default:
		use.Settle(nil)
	}
}

// failedAsking answers a request that ended because of its questions, or returns ok false. A nil error means a
// result.
func (r *request) failedAsking(err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	if body, wire, ok = r.failedTask(err); ok {
		return body, wire, ok
	}
	var used *continuation.UsedError
	var asks *idempotency.AsksError
	switch {
	case errors.As(err, &asks):
		return r.prepared(asks.Result), nil, true
	case errors.Is(err, hostfuncs.ErrSuspended) && r.resumption.suspended:
		if body, err = r.inputRequired(); err != nil {
			body, wire = r.errorReply(r.bug(err))
		}
		return body, wire, true
	case errors.As(err, &used):
		body = append(append([]byte(idPrefix), r.call.ID...), used.Reply.Tail...)
		return body, used.Reply.Err, true
	case errors.Is(err, journal.ErrOther):
		body, wire = r.errorReply(jsonrpc.InvalidParams("%v", continuation.ErrOtherBuild))
		return body, wire, true
	}
	return r.missing(err)
}

// missing answers a call that its plugin ended because of a missing client capability. The modern era has its own
// error code for it.
func (r *request) missing(err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	text, required := requires(err)
	if required == nil {
		return nil, nil, false
	}
	if !r.call.Modern {
		body, wire = r.ended(&result.Failure{Kind: runtime.KindUnsupported, Text: text, Cause: err})
		return body, wire, true
	}
	data := jsonraw.Object{{Key: "requiredCapabilities", Value: required}}.Append(nil)
	body, wire = r.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeMissingCapability, Message: text, Data: data})
	return body, wire, true
}

// maxRequires is the largest requiredCapabilities object accepted from a plugin, in bytes.
const maxRequires = 1 << 10

// requires returns the missing capabilities that ended a call, and the plugin's message, or nil for other errors.
// Plugins return the data that the host gave them.
func requires(err error) (text string, required json.RawMessage) {
	var guest *runtime.GuestError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &guest):
		required = jsonraw.Get(guest.Data, "requiredCapabilities")
		if !jsonraw.IsObject(required) || len(required) > maxRequires {
			return "", nil
		}
		return guest.Message, required
	case errors.As(err, &ask):
		return ask.Message, ask.Requires
	}
	return "", nil
}
