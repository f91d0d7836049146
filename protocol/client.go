package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/failure"
	"github.com/sallyport-mcp/sallyport/protocol/parked"
	"github.com/sallyport-mcp/sallyport/protocol/stream"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// To the plugin that serves it, a request is the client. See ask.go for questions.
var (
	_ hostfuncs.Asker = (*request)(nil)
	_ parked.Request  = (*request)(nil)
)

// Progress passes progress on.
func (r *request) Progress(_ context.Context, params json.RawMessage) { r.stream.Progress(params) }

// Message passes a log message on if the client wants its level.
func (r *request) Message(_ context.Context, params json.RawMessage) {
	r.stream.Message(params, r.threshold())
}

// threshold is the least level that the client wants to see; stream.Unset is none at all.
func (r *request) threshold() stream.Level {
	if r.modern {
		return r.level
	}
	if l := stream.Level(r.conn.level.Load()); l != stream.Unset {
		return l
	}
	return stream.DefaultLevel
}

// Release has the transport give the client's connection back, if it has a way to bring the answer later.
func (r *request) Release() { r.stream.Tell(nil) }

// Denied notes that the gate refused an effect, for the text of a call that fails.
func (r *request) Denied(e *runtime.AskError) { r.hint(func(h *failure.Hints) { h.Denied(e) }) }

// RetryAfter notes when something that failed may be tried again, for a call that fails.
func (r *request) RetryAfter(ms int64) { r.hint(func(h *failure.Hints) { h.RetryAfter(ms) }) }

// hint adds to what the gate told during the call.
func (r *request) hint(f func(*failure.Hints)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.hints)
}

// hinted is what the gate told during the call.
func (r *request) hinted() failure.Hints {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hints
}

// Receipt takes what the call did. It comes when the call is over, before its answer is sent.
func (r *request) Receipt(receipt receipt.Receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receipt = &receipt
}

// done is what the call did, if it is known.
func (r *request) done() *receipt.Receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receipt
}
