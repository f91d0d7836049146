package protocol

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/protocol/failure"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/once"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/resume"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// idPrefix is how each of our responses begins, up to the id.
const idPrefix = `{"jsonrpc":"2.0","id":`

// settle ends the use of the state that a request brought: its answer is kept, or if it failed and left
// no trace it may be tried again.
func (r *request) settle(resp *Response, err error) {
	use := r.resumption.use
	if use == nil {
		return
	}
	tail, ok := bytes.CutPrefix(resp.Body, append([]byte(idPrefix), r.id...))
	switch {
	case resp.Busy > 0, // it has not begun
		err != nil && !errors.Is(err, hostfuncs.ErrSuspended) && r.task == nil && len(r.changed()) == 0:
		if err := use.Release(); err != nil {
			r.server.log.Warn("a requestState cannot be freed", "call", r.call, "error", err)
		}
	case ok:
		use.Settle(&resume.Reply{Tail: tail, Err: resp.Err})
	default:
		use.Settle(nil)
	}
}

// failedAsking answers a request that ended for its questions; ok is false if it did not. The error is
// nil for a result.
func (r *request) failedAsking(err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	if body, wire, ok = r.failedTask(err); ok {
		return body, wire, ok
	}
	var used *resume.UsedError
	var asks *once.AsksError
	switch {
	case errors.As(err, &asks):
		return r.prepared(asks.Result), nil, true
	case errors.Is(err, hostfuncs.ErrSuspended) && r.resumption.suspended:
		if body, err = r.inputRequired(); err != nil {
			body, wire = r.errorReply(r.bug(err))
		}
		return body, wire, true
	case errors.As(err, &used):
		body = append(append([]byte(idPrefix), r.id...), used.Reply.Tail...)
		return body, used.Reply.Err, true
	case errors.Is(err, journal.ErrOther):
		body, wire = r.errorReply(jsonrpc.InvalidParams("%v", resume.ErrOtherBuild))
		return body, wire, true
	}
	return r.missing(err)
}

// missing answers a call that a plugin ended since the client cannot be asked what it has to know. The
// modern era has an error for it.
func (r *request) missing(err error) (body []byte, wire *jsonrpc.Error, ok bool) {
	text, required := requires(err)
	if required == nil {
		return nil, nil, false
	}
	if !r.modern {
		body, wire = r.ended(&failure.Failure{Kind: runtime.KindUnsupported, Text: text, Cause: err})
		return body, wire, true
	}
	data := rawjson.Object{{Key: "requiredCapabilities", Value: required}}.Append(nil)
	body, wire = r.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeMissingCapability, Message: text, Data: data})
	return body, wire, true
}

// maxRequires bounds what a plugin repeats of the capabilities that it was told are missing, in bytes.
const maxRequires = 1 << 10

// requires returns what a client should have declared for a call that ended for that, and what the plugin
// says of it; nil if it ended for something else. A plugin gives back the data that it was given.
func requires(err error) (text string, required json.RawMessage) {
	var guest *runtime.GuestError
	var ask *runtime.AskError
	switch {
	case errors.As(err, &guest):
		required = rawjson.Get(guest.Data, "requiredCapabilities")
		if !rawjson.IsObject(required) || len(required) > maxRequires {
			return "", nil
		}
		return guest.Message, required
	case errors.As(err, &ask):
		return ask.Message, ask.Requires
	}
	return "", nil
}
