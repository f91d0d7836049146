package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/answer"
	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// codeResourceNotFound is what the legacy era answers to resources/read of an unknown URI.
const codeResourceNotFound = -32002

// metaError is the _meta key that tells programs why a call failed.
const metaError = "dev.sallyport/error"

// failed turns whatever ended a request into the message that the client gets. Errors look like
// this on the wire:
//
//	see failedAsking          a call that waits for answers, or cannot have them
//	*jsonrpc.Error            ours already: unknown names, malformed params
//	*runtime.GuestError       a plugin's JSON-RPC error, its code mapped out of reserved ranges
//	*runtime.EndError,
//	*runtime.AskError,
//	*answer.ShapeError               tools/call: a result with isError; else −32603 with data
//	anything else             the host's fault: −32603 with the call id, the rest in the log
//
// The returned error is nil for a result.
func (r *request) failed(err error) ([]byte, *jsonrpc.Error) {
	var (
		wire  *jsonrpc.Error
		guest *runtime.GuestError
		end   *runtime.EndError
		ask   *runtime.AskError
		shape *answer.ShapeError
	)
	if body, wire, ok := r.failedAsking(err); ok {
		return body, wire
	}
	r.learnDenials(err)
	switch {
	case errors.As(err, &wire):
		return r.errorReply(wire)
	case errors.As(err, &guest):
		return r.errorReply(r.guestError(guest))
	case errors.As(err, &end) && end.Kind == runtime.KindInternal:
		return r.errorReply(r.bug(err))
	case errors.As(err, &end):
		f := &failure{kind: end.Kind, text: end.Message, code: end.Code, stack: end.Stack, cause: err}
		if errors.As(end.Err, &ask) {
			f.retryAfterMs = ask.RetryAfterMs
		}
		return r.ended(f)
	case errors.As(err, &ask):
		return r.ended(&failure{kind: ask.Kind, text: ask.Message, retryAfterMs: ask.RetryAfterMs, cause: err})
	case errors.As(err, &shape):
		return r.ended(&failure{kind: runtime.KindGuest, text: "the plugin's answer breaks the contract: " + shape.Problem, cause: err})
	}
	return r.errorReply(r.bug(err))
}

// learnDenials takes from a failed call what it was refused, unless the gate has told before.
func (r *request) learnDenials(err error) {
	r.mu.Lock()
	told := r.denial != nil
	r.mu.Unlock()
	if told {
		return
	}
	var ask *runtime.AskError
	if errors.As(err, &ask) && ask.Kind == runtime.KindDenied {
		r.Denied(ask)
		return
	}
	var f *catalogue.Failure
	if errors.As(err, &f) {
		for _, d := range f.Denials {
			r.Denied(&runtime.AskError{Kind: runtime.KindDenied, Message: d})
		}
	}
}

func (r *request) errorReply(e *jsonrpc.Error) ([]byte, *jsonrpc.Error) {
	return rawjson.OneLine(jsonrpc.AppendError(nil, r.id, e)), e
}

// failure is why a plugin's call gave no answer.
type failure struct {
	kind         runtime.Kind
	text         string // one sentence, lower case, no full stop
	retryAfterMs int64
	code         uint32
	stack        string
	cause        error
}

// retryable reports whether the same request may succeed later, unchanged.
func (f *failure) retryable() bool {
	switch f.kind {
	case runtime.KindUnavailable, runtime.KindTimeout, runtime.KindDeadline, runtime.KindConflict,
		runtime.KindLimit, runtime.KindCancelled: // cancelled by us: the plugin was replaced
		return true
	}
	return f.retryAfterMs > 0
}

// level is how loud the log is about it: wrong arguments are a model's everyday.
func (f *failure) level() slog.Level {
	if f.kind == runtime.KindInvalid {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// data is the machine's half of a failure.
func (f *failure) data(call string) json.RawMessage {
	o := rawjson.Object{
		{Key: "kind", Value: rawjson.AppendString(nil, string(f.kind))},
		{Key: "retryable", Value: strconv.AppendBool(nil, f.retryable())},
	}
	if f.retryAfterMs > 0 {
		o.Set("retryAfterMs", strconv.AppendInt(nil, f.retryAfterMs, 10))
	}
	if call != "" {
		o.Set("call", rawjson.AppendString(nil, call))
	}
	return o.Append(nil)
}

// ended shows a failure as the method's clients can use it: the model sees a tool's.
func (r *request) ended(f *failure) ([]byte, *jsonrpc.Error) {
	r.log(f)
	r.mu.Lock()
	if f.retryAfterMs == 0 && f.kind != runtime.KindInvalid && f.kind != runtime.KindDenied {
		f.retryAfterMs = r.later
	}
	r.mu.Unlock()
	if r.method != "tools/call" {
		return r.errorReply(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: r.hinted(f.text), Data: f.data(r.call)})
	}
	text := f.text
	if r.subject != "" {
		text = r.subject + ": " + text
	}
	o := rawjson.Object{
		{Key: "content", Value: answer.Content(answer.Text(text))},
		{Key: "isError", Value: json.RawMessage("true")},
	}
	if said := lastWords(f.cause); said != "" {
		answer.Add(&o, answer.Text(said))
	}
	if refused := r.refusal(f.text); refused != nil {
		answer.Add(&o, refused)
	}
	data := f.data(r.call)
	if outside := r.outside(); outside != nil { // what was done before it failed, and stays done
		d, _ := rawjson.ParseObject(data)
		d.Set("done", outside)
		data = d.Append(nil)
	}
	meta.Set(&o, metaError, data)
	return r.frame(o, false), nil
}

// log keeps what a client must not see. Empty values are left out.
func (r *request) log(f *failure) {
	attrs := []any{"call", r.call, "method", r.method, "name", r.subject, "kind", string(f.kind), "error", f.cause}
	if err := cause(f.cause); err != nil {
		attrs = append(attrs, "cause", err)
	}
	if f.code != 0 {
		attrs = append(attrs, "code", f.code)
	}
	if f.stack != "" {
		attrs = append(attrs, "stack", f.stack)
	}
	if said := stderr(f.cause); said != "" {
		attrs = append(attrs, "stderr", said)
	}
	r.server.log.Log(context.Background(), f.level(), "call failed", attrs...)
}

// cause is what a call's end does not say itself, since it may be more than a client should know.
func cause(err error) error {
	var end *runtime.EndError
	if errors.As(err, &end) {
		return end.Err
	}
	return nil
}

// bug reports an error that should not be. The client learns where to look, not what it was.
func (r *request) bug(err error) *jsonrpc.Error {
	attrs := []any{"call", r.call, "method", r.method, "name", r.subject, "error", err, "cause", cause(err)}
	var p *bugError
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	r.server.log.Error("internal error", attrs...)
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "internal error"}
	if r.call != "" {
		e.Data = rawjson.Object{{Key: "call", Value: rawjson.AppendString(nil, r.call)}}.Append(nil)
	}
	return e
}

// guestError maps a plugin's JSON-RPC error.
func (r *request) guestError(g *runtime.GuestError) *jsonrpc.Error {
	if g.Code == codeResourceNotFound && r.method == "resources/read" {
		return r.resourceNotFound(g.Message)
	}
	message, _ := clean.Text(g.Message)
	e := &jsonrpc.Error{Code: guestCode(g.Code), Message: r.hinted(message)}
	if rawjson.Valid(g.Data) == nil {
		e.Data = g.Data
	}
	return e
}

// guestCode keeps the codes that a plugin may use: invalid params, internal error and its own,
// which are outside of what JSON-RPC and MCP reserve. The other standard codes are about the
// message, which is not a plugin's business: HTTP shows them as a failed request, and clients of
// two eras take that for an old server.
func guestCode(code int) int {
	const reservedLow, reservedHigh = -32768, -32000
	if code < reservedLow || code > reservedHigh || code == jsonrpc.CodeInvalidParams {
		return code
	}
	return jsonrpc.CodeInternal
}

func (r *request) resourceNotFound(message string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: codeResourceNotFound, Message: message}
	if r.modern {
		e.Code = jsonrpc.CodeInvalidParams
	}
	if uri := rawjson.Get(r.params, "uri"); uri != nil {
		e.Data = rawjson.Object{{Key: "uri", Value: uri}}.Append(nil)
	}
	return e
}

// hinted adds to an error, which has no content beside it, what would allow what the gate refused during this call.
func (r *request) hinted(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.denial == nil || r.denial.Hint == "" {
		return text
	}
	return text + "; to allow it: " + firstLine(r.denial.Hint)
}

// refusal is a text block that says what the gate refused during this call and what would allow
// it, in three lines at most; nil if there is nothing to add to what was said.
func (r *request) refusal(said string) json.RawMessage {
	r.mu.Lock()
	denial, others := r.denial, r.denials-1
	r.mu.Unlock()
	if denial == nil {
		return nil
	}
	var lines []string
	if denial.Message != said {
		lines = append(lines, "refused: "+firstLine(denial.Message))
	}
	if denial.Hint != "" {
		lines = append(lines, "to allow it: "+firstLine(denial.Hint))
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("and %d more refused in this call", others))
	}
	if lines == nil {
		return nil
	}
	return answer.Text(strings.Join(lines, "\n"))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
