package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
)

// initialize begins a legacy session. A repeated initialize, as bridges send on reconnect, begins a new session on
// the same Conn.
func initialize(_ context.Context, r *request) ([]byte, error) {
	requested, err := r.call.Text("protocolVersion")
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"capabilities", "clientInfo"} {
		if v := jsonraw.Get(r.call.Params, key); v != nil && !jsonraw.IsObject(v) {
			return nil, jsonrpc.InvalidParams("params.%s must be an object", key)
		}
	}
	r.conn.met(jsonraw.Get(r.call.Params, "clientInfo"))
	version := envelope.Negotiate(requested)
	r.conn.legacy.restart(inputrequest.Declared(jsonraw.Get(r.call.Params, "capabilities")))
	r.conn.subscriptions.Forget()
	r.conn.watches.stopAll()
	r.conn.legacy.agree(version)
	r.initialized = version
	return r.prepared(r.server.greeting.Initialize(version, r.conn.announcesChanges(), r.conn.legacyTasks())), nil
}

// maxClientName is the maximum length of a client's name, in bytes.
const maxClientName = 64

// met records the client's name for the connection. It compares raw names first to keep repeated requests cheap.
func (c *Conn) met(info json.RawMessage) {
	if c.server.opts.Met == nil || info == nil {
		return
	}
	raw := jsonraw.Get(info, "name")
	if known := c.client.Load(); known != nil && *known == string(raw) {
		return
	}
	kept := string(raw)
	c.client.Store(&kept)
	if name, ok := jsonraw.String(raw); ok && name != "" {
		c.server.opts.Met(sanitize.Visible(sanitize.Cut(name, maxClientName)))
	}
}

// Initialize returns the answer to initialize for a version. tells reports whether the session can receive change
// notifications. tasks is its tasks capability, nil if it has none.
func (s *greeter) Initialize(version string, tells bool, tasks json.RawMessage) json.RawMessage {
	can := capabilities(tells)
	if version == envelope.V20251125 {
		can.Set("tasks", tasks)
	}
	o := jsonraw.Object{
		{Key: "protocolVersion", Value: jsonraw.AppendString(nil, version)},
		{Key: "capabilities", Value: can.Append(nil)},
		{Key: "serverInfo", Value: s.Form.Info},
	}
	s.instruct(&o)
	return o.Append(nil)
}
