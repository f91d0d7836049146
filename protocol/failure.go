package protocol

import (
	"encoding/json"
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// codeResourceNotFound is the legacy error code of resources/read for an unknown URI.
const codeResourceNotFound = -32002

// failed turns the error of a request into its response. j is the journal of its earlier runs, or nil. Mapping by
// error:
//
//	missing capability        see missing
//	*jsonrpc.Error            unchanged: unknown names, malformed params
//	*runtime.GuestError       a plugin's JSON-RPC error, its code mapped out of reserved ranges
//	*catalog.ScopeError       −32600 with the scopes
//	*runtime.EndError, *runtime.AskError, *result.ShapeError
//	                          tools/call: a result with isError; else −32603 with data,
//	                          as for a call not started because its plugin is busy
//	anything else             a host error: −32603 with the call id, details in the log
//
// The returned error is nil for a result.
func (a *answer) failed(err error, j *journal.Journal) ([]byte, *jsonrpc.Error) {
	if body, wire, ok := a.missing(err, j); ok {
		return body, wire
	}
	var (
		wire  *jsonrpc.Error
		guest *runtime.GuestError
		scope *catalog.ScopeError
	)
	a.hint(func(h *result.Hints) { h.Learn(err) })
	switch {
	case errors.As(err, &wire):
		return a.errorReply(wire)
	case errors.As(err, &guest):
		return a.errorReply(a.guestError(guest))
	case errors.As(err, &scope):
		return a.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: result.FailureOf(err).Text})
	}
	if f := result.FailureOf(err); f != nil {
		return a.ended(f, j)
	}
	return a.errorReply(a.bug(err))
}

func (a *answer) errorReply(e *jsonrpc.Error) ([]byte, *jsonrpc.Error) {
	return jsonraw.OneLine(jsonrpc.AppendError(nil, a.call.ID, e)), e
}

// ended reports a failure in the form of the method: a tool error goes to the model.
func (a *answer) ended(f *result.Failure, j *journal.Journal) ([]byte, *jsonrpc.Error) {
	f.Log(a.log, "call", a.id, "method", a.call.Method, "name", a.subject, a.trace.Attr())
	hints := a.hinted()
	hints.Complete(f)
	if a.call.Method != "tools/call" || f.Busy {
		return a.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: hints.Behind(f.Text), Data: f.Data(a.id)})
	}
	text := f.Text
	if a.subject != "" {
		text = a.subject + ": " + text
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
	data := f.Data(a.id)
	if outside := a.outside(j); outside != nil { // effects before the failure, which persist
		d, _ := jsonraw.ParseObject(data)
		d.Set("done", outside)
		data = d.Append(nil)
	}
	untrusted.SetMeta(&o, result.ErrorMeta, data)
	return a.frame(o, false), nil
}

// bug logs an internal error. The client gets only the call id, not the details.
func (a *answer) bug(err error) *jsonrpc.Error {
	attrs := []any{"call", a.id, "method", a.call.Method, "name", a.subject, "error", err, "cause", result.Cause(err), a.trace.Attr()}
	var p *bugError
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	a.log.Error("internal error", attrs...)
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "internal error"}
	if a.id != "" {
		e.Data = jsonraw.Object{{Key: "call", Value: jsonraw.AppendString(nil, a.id)}}.Append(nil)
	}
	return e
}

// maxGuestError limits message and data of a plugin's JSON-RPC error, in bytes each. The client's own answer limit
// may lower it.
const maxGuestError = 16 << 10

// clean cleans and limits a plugin's JSON-RPC error, like its answers. Data over the limit is dropped.
func (a *answer) clean(g *runtime.GuestError) {
	most := maxGuestError
	if w, err := a.call.Wishes(); err == nil {
		most = lower(result.Bound{Bytes: most}, w.MaxBytes).Bytes
	}
	g.Message, _ = sanitize.Text(sanitize.Cut(g.Message, most))
	if jsonraw.Valid(g.Data) != nil || len(g.Data) > most {
		g.Data = nil
		return
	}
	g.Data, _ = sanitize.JSON(g.Data, nil)
}

// guestError maps the code of a plugin's JSON-RPC error, already cleaned.
func (a *answer) guestError(g *runtime.GuestError) *jsonrpc.Error {
	if g.Code == codeResourceNotFound && a.call.Method == "resources/read" {
		return a.resourceNotFound(g.Message)
	}
	hints := a.hinted()
	return &jsonrpc.Error{Code: result.GuestCode(g.Code), Message: hints.Behind(g.Message), Data: g.Data, Foreign: true}
}

func (a *answer) resourceNotFound(message string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: codeResourceNotFound, Message: message}
	if a.call.Modern {
		e.Code = jsonrpc.CodeInvalidParams
	}
	if uri := jsonraw.Get(a.call.Params, "uri"); uri != nil {
		e.Data = jsonraw.Object{{Key: "uri", Value: uri}}.Append(nil)
	}
	return e
}

// outside returns the effects and attempted effects of a failed call, over all its runs in the journal, and those
// that cannot be undone, as JSON. It is nil if none are known.
func (a *answer) outside(j *journal.Journal) json.RawMessage {
	receipt := a.done()
	if receipt != nil && receipt.Counts {
		return nil
	}
	done := a.changed()
	if j != nil && j.Bound() {
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

// missing answers a call that its plugin ended because of a missing client capability. The modern era has its own
// error code for it.
func (a *answer) missing(err error, j *journal.Journal) (body []byte, wire *jsonrpc.Error, ok bool) {
	text, required := requires(err)
	if required == nil {
		return nil, nil, false
	}
	if !a.call.Modern {
		body, wire = a.ended(&result.Failure{Kind: runtime.KindUnsupported, Text: text, Cause: err}, j)
		return body, wire, true
	}
	data := jsonraw.Object{{Key: "requiredCapabilities", Value: required}}.Append(nil)
	body, wire = a.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeMissingCapability, Message: text, Data: data})
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
