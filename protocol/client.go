package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
)

// A request implements the client interfaces of the plugin that serves it. Ask is in ask.go, and the reports of effects
// are in reports.go.
var (
	_ hostfuncs.Asker      = (*request)(nil)
	_ continuation.Request = (*request)(nil)
)

// Progress forwards a progress notification.
func (r *request) Progress(_ context.Context, params json.RawMessage) { r.stream.Progress(params) }

// Message forwards a log message if the client requested its level. A modern client requests it per call.
func (r *request) Message(_ context.Context, params json.RawMessage) {
	least := r.level
	if !r.call.Modern {
		least = r.conn.legacy.threshold()
	}
	r.stream.Message(params, least)
}

// Release tells the transport that the connection may close, if it can deliver the answer later.
func (r *request) Release() { r.stream.Tell(nil) }
