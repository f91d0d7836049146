package protocol

import (
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// metaSession is the _meta key with which a client of the modern era says to which session a request belongs, since
// there its connection says nothing: newSession in a request, and the handle in its result and in those that follow.
const metaSession = "dev.sallyport/session"

// newSession asks for a handle.
const newSession = "new"

// findSession finds out to which session the request belongs: that of its connection, or the one it names.
func (r *request) findSession() error {
	if r.minted != "" { // found before
		return nil
	}
	r.session = r.conn.opts.Session
	raw := rawjson.Get(r.params, "_meta", metaSession)
	if !r.modern || r.task != nil || rawjson.IsNull(raw) {
		return nil
	}
	name, ok := rawjson.String(raw)
	switch {
	case !ok || name == "":
		return jsonrpc.InvalidParams("%s is %q, or what an answer to that named", metaSession, newSession)
	case name != newSession:
		if !r.server.sessions.Use(r.conn.opts.Principal, name) {
			return jsonrpc.InvalidParams("%s names a session that is over, or is kept by another process: send %q for another one", metaSession, newSession)
		}
		r.session = name
	case asks(r.method) && !rawjson.IsNull(rawjson.Get(r.params, "requestState")):
		r.session = newSession // that of the call, which has it already
	default:
		if r.minted = r.server.sessions.Begin(r.conn.opts.Principal); r.minted == "" {
			return &runtime.EndError{Kind: runtime.KindLimit, Message: "there are too many sessions"}
		}
		r.session = r.minted
	}
	return nil
}

// tellSession names the session that this request began.
func (r *request) tellSession(o *rawjson.Object) {
	if r.minted != "" {
		meta.Set(o, metaSession, rawjson.AppendString(nil, r.minted))
	}
}
