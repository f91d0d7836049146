package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// A request implements the client interfaces of the plugin that serves it. Ask is in ask.go.
var (
	_ hostfuncs.Asker      = (*request)(nil)
	_ continuation.Request = (*request)(nil)
)

// Progress forwards a progress notification.
func (r *request) Progress(_ context.Context, params json.RawMessage) { r.stream.Progress(params) }

// Message forwards a log message if the client requested its level.
func (r *request) Message(_ context.Context, params json.RawMessage) {
	r.stream.Message(params, r.threshold())
}

// threshold is the lowest log level that the client requested. notify.Unset means no log messages.
func (r *request) threshold() notify.Level {
	if r.call.Modern {
		return r.level
	}
	if l := notify.Level(r.conn.level.Load()); l != notify.Unset {
		return l
	}
	return notify.DefaultLevel
}

// Release tells the transport that the connection may close, if it can deliver the answer later.
func (r *request) Release() { r.stream.Tell(nil) }

// Denied records an effect denied by policy, for the text of a failed call.
func (r *request) Denied(e *runtime.AskError) { r.hint(func(h *result.Hints) { h.Denied(e) }) }

// RetryAfter records the delay in ms before a failed operation may be retried, for a failed call.
func (r *request) RetryAfter(ms int64) { r.hint(func(h *result.Hints) { h.RetryAfter(ms) }) }

// hint updates the hints collected during the call.
func (r *request) hint(f func(*result.Hints)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.hints)
}

// hinted returns the hints collected during the call.
func (r *request) hinted() result.Hints {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hints
}

// Receipt records the effects of the call. It is called after the call, before its answer is sent.
func (r *request) Receipt(receipt receipt.Receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receipt = &receipt
}

// done returns the receipt of the call, or nil if there is none.
func (r *request) done() *receipt.Receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receipt
}
