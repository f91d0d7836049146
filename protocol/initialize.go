package protocol

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
)

// initialize begins a legacy session. A repeated initialize, as bridges send on reconnect, begins a new session on
// the same Conn.
func initialize(ctx context.Context, r *request) ([]byte, error) {
	requested, err := r.call.Text("protocolVersion")
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"capabilities", "clientInfo"} {
		if v := jsonraw.Get(r.call.Params, key); v != nil && !jsonraw.IsObject(v) {
			return nil, jsonrpc.InvalidParams("params.%s must be an object", key)
		}
	}
	name := jsonraw.Get(r.call.Params, "clientInfo", "name")
	r.conn.met(name)
	version := envelope.Negotiate(requested)
	err = r.conn.change(ctx, func(s *SessionState) error {
		*s = SessionState{Version: version, Capabilities: inputrequest.Declared(jsonraw.Get(r.call.Params, "capabilities")).Object(), Keeper: s.Keeper}
		if len(name) <= maxKeptName {
			s.Client = slices.Clone(name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.conn.watches.stopAll()
	r.initialized = version
	return r.prepared(r.server.greeting.Initialize(version, r.conn.announcesChanges(), r.conn.legacyTasks())), nil
}

// maxKeptName bounds the name of a client, as JSON, that is part of its session, in bytes.
const maxKeptName = 1 << 10

// maxClientName is the maximum length of a client's name, in bytes.
const maxClientName = 64

// met records the client's name for the connection. It compares raw names first to keep repeated requests cheap.
func (c *Conn) met(raw json.RawMessage) {
	if c.server.opts.Met == nil || raw == nil {
		return
	}
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
	return jsonraw.Object{
		{Key: "protocolVersion", Value: jsonraw.AppendString(nil, version)},
		{Key: "capabilities", Value: can.Append(nil)},
		{Key: "serverInfo", Value: s.Form.Info},
	}.Append(nil)
}
