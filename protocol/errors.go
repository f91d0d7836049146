package protocol

import (
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// codeResourceNotFound is the legacy error code of resources/read for an unknown URI.
const codeResourceNotFound = -32002

// failed turns the error of a request into its response. Mapping by error:
//
//	see failedAsking          a call that waits for answers, or cannot have them
//	*jsonrpc.Error            unchanged: unknown names, malformed params
//	*runtime.GuestError       a plugin's JSON-RPC error, its code mapped out of reserved ranges
//	*runtime.EndError, *runtime.AskError, *answer.ShapeError
//	                          tools/call: a result with isError; else −32603 with data,
//	                          as for a call not started because its plugin is busy
//	anything else             a host error: −32603 with the call id, details in the log
//
// The returned error is nil for a result.
func (r *request) failed(err error) ([]byte, *jsonrpc.Error) {
	var (
		wire  *jsonrpc.Error
		guest *runtime.GuestError
	)
	if errors.As(err, &guest) {
		r.plain(guest)
	}
	if body, wire, ok := r.failedAsking(err); ok {
		return body, wire
	}
	r.hint(func(h *result.Hints) { h.Learn(err) })
	switch {
	case errors.As(err, &wire):
		return r.errorReply(wire)
	case errors.As(err, &guest):
		return r.errorReply(r.guestError(guest))
	}
	if f := result.FailureOf(err); f != nil {
		return r.ended(f)
	}
	return r.errorReply(r.bug(err))
}

func (r *request) errorReply(e *jsonrpc.Error) ([]byte, *jsonrpc.Error) {
	return jsonraw.OneLine(jsonrpc.AppendError(nil, r.call.ID, e)), e
}

// ended reports a failure in the form of the method: a tool error goes to the model.
func (r *request) ended(f *result.Failure) ([]byte, *jsonrpc.Error) {
	f.Log(r.server.log, "call", r.callID, "method", r.call.Method, "name", r.subject)
	hints := r.hinted()
	hints.Complete(f)
	if r.call.Method != "tools/call" || f.Busy {
		return r.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: hints.Behind(f.Text), Data: f.Data(r.callID)})
	}
	text := f.Text
	if r.subject != "" {
		text = r.subject + ": " + text
	}
	o := jsonraw.Object{
		{Key: "content", Value: result.Content(result.Text(text))},
		{Key: "isError", Value: json.RawMessage("true")},
	}
	if said := result.LastWords(f.Cause); said != "" {
		result.Add(&o, result.Text(said))
	}
	if refused := hints.Block(result.Said(o)); refused != nil {
		result.Add(&o, refused)
	}
	data := f.Data(r.callID)
	if outside := r.outside(); outside != nil { // effects before the failure, which persist
		d, _ := jsonraw.ParseObject(data)
		d.Set("done", outside)
		data = d.Append(nil)
	}
	untrusted.SetMeta(&o, result.ErrorMeta, data)
	return r.frame(o, false), nil
}

// bug logs an internal error. The client gets only the call id, not the details.
func (r *request) bug(err error) *jsonrpc.Error {
	attrs := []any{"call", r.callID, "method", r.call.Method, "name", r.subject, "error", err, "cause", result.Cause(err)}
	var p *bugError
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	r.server.log.Error("internal error", attrs...)
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "internal error"}
	if r.callID != "" {
		e.Data = jsonraw.Object{{Key: "call", Value: jsonraw.AppendString(nil, r.callID)}}.Append(nil)
	}
	return e
}

// maxGuestError limits message and data of a plugin's JSON-RPC error, in bytes each. The client's own answer limit
// may lower it.
const maxGuestError = 16 << 10

// plain cleans and limits a plugin's JSON-RPC error, like its answers. Data over the limit is dropped.
func (r *request) plain(g *runtime.GuestError) {
	most := maxGuestError
	if w, err := r.wishes(); err == nil {
		most = lower(most, w.MaxBytes).Bytes
	}
	g.Message, _ = sanitize.Text(sanitize.Cut(g.Message, most))
	if jsonraw.Valid(g.Data) != nil || len(g.Data) > most {
		g.Data = nil
		return
	}
	g.Data, _ = sanitize.JSON(g.Data, nil)
}

// guestError maps the code of a plugin's JSON-RPC error, already cleaned by plain.
func (r *request) guestError(g *runtime.GuestError) *jsonrpc.Error {
	if g.Code == codeResourceNotFound && r.call.Method == "resources/read" {
		return r.resourceNotFound(g.Message)
	}
	hints := r.hinted()
	return &jsonrpc.Error{Code: result.GuestCode(g.Code), Message: hints.Behind(g.Message), Data: g.Data, Foreign: true}
}

func (r *request) resourceNotFound(message string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: codeResourceNotFound, Message: message}
	if r.call.Modern {
		e.Code = jsonrpc.CodeInvalidParams
	}
	if uri := jsonraw.Get(r.call.Params, "uri"); uri != nil {
		e.Data = jsonraw.Object{{Key: "uri", Value: uri}}.Append(nil)
	}
	return e
}

// outside returns the effects and attempted effects of a failed call, over all its runs, and those that cannot be
// undone, as JSON. It is nil if none are known.
func (r *request) outside() json.RawMessage {
	receipt := r.done()
	if receipt != nil && receipt.Counts {
		return nil
	}
	done := r.changed()
	if j := r.resumption.journal; j != nil && j.Bound() {
		done = j.Done()
	}
	if len(done) == 0 && receipt != nil {
		done = receipt.Done()
	}
	if len(done) == 0 {
		return nil
	}
	list := make([]json.RawMessage, len(done))
	for i, d := range done {
		list[i] = jsonraw.AppendString(nil, d)
	}
	return jsonraw.Array(list)
}
