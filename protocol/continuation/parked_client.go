package continuation

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Client receives messages and reports of a call.
type Client interface {
	catalog.Client
	hostfuncs.DenialListener
	hostfuncs.RetryListener
	hostfuncs.Releaser
	hostfuncs.ReceiptListener
	hostfuncs.IntentListener
}

var _ Client = (*ParkedCall)(nil)

func (c *ParkedCall) request() Request { return *c.current.Load() }

// Progress forwards a progress notification to the current request.
func (c *ParkedCall) Progress(ctx context.Context, params json.RawMessage) {
	c.request().Progress(ctx, params)
}

// Message forwards a log message to the current request.
func (c *ParkedCall) Message(ctx context.Context, params json.RawMessage) {
	c.request().Message(ctx, params)
}

// Denied reports a denied effect to the current request.
func (c *ParkedCall) Denied(e *runtime.AskError) { c.request().Denied(e) }

// RetryAfter reports a retry delay in ms to the current request.
func (c *ParkedCall) RetryAfter(ms int64) { c.request().RetryAfter(ms) }

// Release releases the connection of the current request.
func (c *ParkedCall) Release() { c.request().Release() }

// Receipt passes the receipt to the current request.
func (c *ParkedCall) Receipt(receipt receipt.Receipt) { c.request().Receipt(receipt) }

// Intends reports an intended effect to the current request.
func (c *ParkedCall) Intends(what string) error { return c.request().Intends(what) }

// Recants reports an intent without effect to the current request.
func (c *ParkedCall) Recants(what string) { c.request().Recants(what) }
