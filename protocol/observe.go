package protocol

import (
	"errors"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/result"
)

// Observer is called at the beginning of each request, including refused ones and the runs of tasks, but not for
// subscriptions, which last as long as their client. It is called from any goroutine and must return soon.
type Observer func(Begun) Observation

// Begun describes a request at its beginning. Its texts come from the client, except Method.
type Begun struct {
	Method  string        // "" for a method that the server does not know
	Version string        // protocol version; "" before one is negotiated
	ID      string        // of the request, in JSON
	Trace   trace.Context // of the client; zero without one
	Task    bool          // a run of a task
}

// Observation is the observer's part in one request.
type Observation struct {
	// Span is the position of the request in a trace, for its call and further requests; zero keeps that of the client.
	Span trace.Context
	// Ended is called at the end of the request, before its response is sent; nil is not called.
	Ended func(Ended)
}

// Ended describes a request at its end.
type Ended struct {
	Call    string // call id; "" before a plugin is called
	Subject string // tool, prompt or URI; "" before a plugin is called
	Outcome string // one of a small set of words, see the constants
	Code    int    // JSON-RPC error code; 0 for a result
}

// Outcomes of a request, beside the kinds of runtime.Kind for a call that its plugin did not finish.
const (
	OutcomeOK       = "ok"
	OutcomeTool     = "tool_error"     // the tool reported an error
	OutcomeGuest    = "plugin_error"   // the plugin answered with a JSON-RPC error
	OutcomeInput    = "input_required" // the call waits for answers of its client
	OutcomeGone     = "cancelled"      // nobody waits for the response
	OutcomeRefused  = "refused"        // the request is invalid: its method, name, arguments or version
	OutcomeInternal = "internal"       // a fault of the host
)

// observe tells the observer of a new request.
func (r *request) observe(task bool) {
	if r.server.opts.Observe == nil || r.call.Method == listenMethod {
		return
	}
	b := Begun{Method: r.call.Method, Version: r.conn.legacy.version(), ID: string(r.call.ID), Trace: r.trace, Task: task}
	if _, known := lookup(b.Method); !known {
		b.Method = ""
	}
	if r.call.Modern {
		b.Version = envelope.V20260728
	}
	r.observed = r.server.opts.Observe(b)
	if r.observed.Span.Parent != "" {
		r.trace = r.observed.Span
	}
}

// finish tells the observer of the end of the request, with the error of its handler.
func (r *request) finish(resp *Response, err error) {
	if r.observed.Ended == nil {
		return
	}
	e := Ended{Call: r.id, Subject: r.subject, Outcome: r.outcome(resp, err)}
	if resp.Err != nil {
		e.Code = resp.Err.Code
	}
	r.observed.Ended(e)
}

// outcome returns the outcome of the request.
func (r *request) outcome(resp *Response, err error) string {
	f := result.FailureOf(err)
	switch {
	case resp.Body == nil:
		return OutcomeGone
	case errors.Is(err, hostfuncs.ErrSuspended):
		return OutcomeInput
	case f != nil:
		return string(f.Kind)
	case resp.Err != nil:
		return outcomeOf(resp.Err)
	case r.toolFailed:
		return OutcomeTool
	}
	return OutcomeOK
}

// outcomeOf returns the outcome of a request that got an error which no plugin caused.
func outcomeOf(e *jsonrpc.Error) string {
	switch {
	case e.Foreign:
		return OutcomeGuest
	case e.Code == jsonrpc.CodeInternal:
		return OutcomeInternal
	}
	return OutcomeRefused
}
