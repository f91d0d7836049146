package protocol

import (
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// newSession requests a new handle of a session, which the result and the following requests carry. In the modern era
// connections carry no session.
const newSession = "new"

// findSession determines the session of the request: from its _meta, or else its connection's.
func (r *request) findSession() error {
	if r.minted != "" { // already determined
		return nil
	}
	r.session = r.conn.opts.Session
	raw := r.call.Session
	if !r.call.Modern || r.task != nil || jsonraw.IsNull(raw) {
		return nil
	}
	name, ok := jsonraw.String(raw)
	switch {
	case !ok || name == "":
		return jsonrpc.InvalidParams("%s is %q, or the name in its answer", envelope.MetaSession, newSession)
	case name != newSession:
		if !r.server.sessions.Use(r.conn.opts.Principal, name) {
			return jsonrpc.InvalidParams("%s names a session that is over, or is kept by another process: send %q for another one", envelope.MetaSession, newSession)
		}
		r.session = name
	case asks(r.call.Method) && !jsonraw.IsNull(jsonraw.Get(r.call.Params, "requestState")):
		r.session = newSession // the call already has one
	default:
		if r.minted = r.server.sessions.Begin(r.conn.opts.Principal); r.minted == "" {
			return &runtime.EndError{Kind: runtime.KindLimit, Message: "there are too many sessions"}
		}
		r.session = r.minted
	}
	return nil
}
