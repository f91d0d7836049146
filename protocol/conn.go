package protocol

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
)

// MaxInFlight is the maximum number of concurrent requests on one Conn. It keeps one client from filling memory
// with waiting calls; agents run only a handful in parallel.
const MaxInFlight = 1024

// ConnOptions hold the transport's knowledge of a client.
type ConnOptions struct {
	// Principal identifies the caller, such as stdio:1000. "" is anonymous.
	Principal string
	// Roles are the groups and scopes of the principal. A request of a context with identity.WithRoles has those in
	// place of them.
	Roles identity.Roles
	// Proof distinguishes equal principals of different servers. Continuations are sealed for principal and proof.
	// Empty means that the name is sufficient.
	Proof string
	// Session names a connection that belongs to one client from start to end. Plugin state of a session is found
	// by it. Empty means no session state.
	Session string
	// Notify sends a message outside any request; nil means that this is impossible. It may be called from any
	// goroutine, also after Close while a call is still running. It must not block for long and must not call into
	// the Conn.
	Notify func(msg []byte)
	// Heard reports whether messages of Notify currently reach the client; nil means unknown. It is called like
	// Notify.
	Heard func() bool
}

// Response is the outcome of Handle for the transport.
type Response struct {
	// Body is the message to send, one line of JSON. Nil means nothing to send, as for a cancelled request. Where
	// each request requires a response, the transport sends Cancelled.
	Body []byte
	// Err is the error in Body, for transports with an error status.
	Err *jsonrpc.Error
	// Modern reports whether the request was of the modern era.
	Modern bool
	// Refused reports whether Err was found before a method ran: in the envelope, the version or the method name.
	// HTTP then uses status 404 for CodeMethodNotFound and 400 for other codes. Other errors are ordinary answers
	// with status 200.
	Refused bool
	// Busy is the delay before a retry if the server had no capacity to start the request, else 0. Err has the
	// reason. HTTP sends 503 with Retry-After.
	Busy time.Duration
	// Initialized is the protocol version negotiated by a successful initialize, else "".
	Initialized string
}

// Conn is the server side of one client connection. It is safe for concurrent use.
type Conn struct {
	server *Server
	opts   ConnOptions
	caller identity.Identity // of requests without roles of their own, and of notifications

	// client is the client's declared name, nil before its first request with one.
	client        atomic.Pointer[string]
	legacy        legacySession
	subscriptions notify.Subscriptions
	requests      inFlight
	watches       taskWatches // of the legacy session
}

// Handle processes one message. For a request it returns when the answer is ready; otherwise Body is nil. Until
// then it calls send, one call at a time, for each message that precedes the result. Each is one line of JSON, and
// send takes ownership. A nil message means that the connection may close before the result if the client can
// resume it. A request has no answer if ctx ends or the client cancels it.
//
// Transports pass notifications in order of arrival and do not wait for requests.
func (c *Conn) Handle(ctx context.Context, m *jsonrpc.Message, send func(msg []byte)) Response {
	switch {
	case m.IsNotification():
		call := envelope.Parse(m)
		c.notified(&call)
		return Response{Modern: call.Modern}
	case !m.IsRequest():
		c.legacy.desk.Answered(m)
		return Response{}
	}
	return c.accept(ctx, envelope.Parse(m), send)
}

// accept validates one request and answers it.
func (c *Conn) accept(ctx context.Context, call envelope.Call, send func(msg []byte)) Response {
	r := newRequest(c, call, send)
	if roles, ok := identity.RolesOf(ctx); ok {
		r.caller = identity.Of(c.opts.Principal, roles)
	}
	r.observe(false)
	m, refusal := r.admit()
	if refusal != nil {
		resp := Response{Body: jsonrpc.AppendError(nil, call.ID, refusal), Err: refusal, Modern: call.Modern, Refused: true}
		r.finish(&resp, refusal)
		return resp
	}
	return r.dispatch(ctx, m)
}

// notified processes a notification. Unknown ones are ignored, as JSON-RPC requires.
func (c *Conn) notified(m *envelope.Call) {
	switch m.Method {
	case "notifications/initialized":
		if c.legacy.version() != "" && !m.Modern {
			c.legacy.initialized()
		}
	case "notifications/cancelled":
		c.requests.cancel(jsonraw.Get(m.Params, "requestId"))
	}
}

// Close cancels the requests in flight and waits for them. Later requests are refused.
func (c *Conn) Close() {
	c.requests.cancelAll()
	c.requests.drain()
	c.watches.stopAll()
	c.server.conns.remove(c)
}

// announcesChanges reports whether a legacy session can receive change notifications.
func (c *Conn) announcesChanges() bool { return c.opts.Notify != nil }

// Waiting returns the number of questions without an answer from the client. A transport that limits concurrent
// calls must not count these calls, as they wait for messages that it has yet to read.
func (c *Conn) Waiting() int { return c.legacy.desk.Waiting() }
