package protocol

import (
	"context"
	"encoding/json"
	"strings"
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
	// Share changes the stored state of a legacy session by f, and passes it to Adopt, if several processes serve the
	// session; nil is a session of this process alone. f gets a copy, may be called more than once, and its error leaves
	// everything as it was.
	Share func(ctx context.Context, f func(*SessionState) error) error
	// Process names this process among those that serve the session: visible ASCII without a hyphen. It is "" without
	// Share.
	Process string
	// Notify sends a message outside any request; nil means that this is impossible. It may be called from any
	// goroutine, also after Close while a call is still running. It must not block for long and must not call into
	// the Conn.
	Notify func(msg []byte)
	// Announce is Notify for changes of the catalog, which each process that serves the session announces; nil is Notify.
	Announce func(msg []byte)
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
	// Quota means that Busy is the delay until the caller has a new quota. HTTP sends 429 with Retry-After.
	Quota bool
	// Scopes are those that the caller needs for the call, if it lacks one of them, and those that it has and that rules
	// name: a token with all of them loses nothing. HTTP sends 403 with a challenge. Err has the reason.
	Scopes []string
	// Unclaimed are messages that nothing in this process awaited, and another ConnOptions.Process of the session may: answers
	// to its questions, and cancellations. They are passed to its Handle.
	Unclaimed [][]byte
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

// Handle processes one message. For a request it returns when the answer is ready; otherwise Body is nil, or the error of a
// notification that could not be stored. Until
// then it calls send, one call at a time, for each message that precedes the result. Each is one line of JSON, and
// send takes ownership. A nil message means that the connection may close before the result if the client can
// resume it. A request has no answer if ctx ends or the client cancels it.
//
// Transports pass notifications in order of arrival and do not wait for requests.
func (c *Conn) Handle(ctx context.Context, m *jsonrpc.Message, send func(msg []byte)) Response {
	switch {
	case m.IsNotification():
		call := envelope.Parse(m)
		r := c.notified(ctx, &call)
		if call.Method == "notifications/cancelled" && !c.requests.cancel(jsonraw.Get(call.Params, "requestId")) {
			r.Unclaimed = c.unclaimed(m)
		}
		return r
	case !m.IsRequest():
		if !c.legacy.desk.Answered(m) && c.askedElsewhere(m.ID) {
			return Response{Unclaimed: c.unclaimed(m)}
		}
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
func (c *Conn) notified(ctx context.Context, m *envelope.Call) Response {
	switch m.Method {
	case "notifications/initialized":
		if s := c.legacy.state.Load(); s.Version == "" || s.Ready || m.Modern {
			break
		}
		err := c.change(ctx, func(s *SessionState) error {
			s.Ready = true
			return nil
		})
		if err != nil {
			wire := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
			return Response{Body: jsonrpc.AppendRefusal(nil, wire), Err: wire, Busy: time.Second}
		}
	}
	return Response{Modern: m.Modern}
}

// askedElsewhere reports whether a question with this ID may be one of another process of the session.
func (c *Conn) askedElsewhere(id json.RawMessage) bool {
	text, _ := jsonraw.String(id)
	process, _, found := strings.Cut(text, "-")
	return found && len(process) == len(c.opts.Process) && process != c.opts.Process
}

// unclaimed returns a message for the other processes of the session, nil if there can be none.
func (c *Conn) unclaimed(m *jsonrpc.Message) [][]byte {
	if c.opts.Process == "" {
		return nil
	}
	return [][]byte{jsonraw.OneLine(m.Append(nil))}
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
