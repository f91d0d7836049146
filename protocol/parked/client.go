package parked

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Client hears what a call says.
type Client interface {
	catalog.Client
	hostfuncs.DenialListener
	hostfuncs.RetryListener
	hostfuncs.Releaser
	hostfuncs.ReceiptListener
	hostfuncs.IntentListener
}

var _ Client = (*Call)(nil)

func (c *Call) request() Request { return *c.current.Load() }

// Progress passes progress on to the current request.
func (c *Call) Progress(ctx context.Context, params json.RawMessage) {
	c.request().Progress(ctx, params)
}

// Message passes a log message on to the current request.
func (c *Call) Message(ctx context.Context, params json.RawMessage) {
	c.request().Message(ctx, params)
}

// Denied tells the current request of a refusal.
func (c *Call) Denied(e *runtime.AskError) { c.request().Denied(e) }

// RetryAfter tells the current request when to come again.
func (c *Call) RetryAfter(ms int64) { c.request().RetryAfter(ms) }

// Release gives the current request's connection back.
func (c *Call) Release() { c.request().Release() }

// Receipt gives the current request the receipt.
func (c *Call) Receipt(receipt receipt.Receipt) { c.request().Receipt(receipt) }

// Intends tells the current request what is about to change.
func (c *Call) Intends(what string) error { return c.request().Intends(what) }

// Recants tells it what came to nothing.
func (c *Call) Recants(what string) { c.request().Recants(what) }
