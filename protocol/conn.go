package protocol

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxInFlight is the maximum number of concurrent requests on one Conn. It keeps one client from filling memory
// with waiting calls; agents run only a handful in parallel.
const MaxInFlight = 1024

// ConnOptions hold the transport's knowledge of a client.
type ConnOptions struct {
	// Principal identifies the caller, such as stdio:1000. "" is anonymous.
	Principal string
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

	// version is the protocol version of the legacy session, nil before initialize.
	version atomic.Pointer[string]
	// ready is set by notifications/initialized.
	ready   atomic.Bool
	once    sync.Once
	readied chan struct{} // closed once, when ready is first set
	// capabilities are the declared capabilities of the legacy client for questions, nil before initialize.
	capabilities atomic.Pointer[inputrequest.Abilities]
	// client is the client's declared name, nil before its first request with one.
	client atomic.Pointer[string]
	// level is the log level of the legacy session.
	level atomic.Int32

	subscriptions notify.Subscriptions
	desk          inputrequest.Desk // of the legacy session

	running sync.WaitGroup // requests in flight. Add is called under mu and never after closed is set

	mu       sync.Mutex
	closed   bool
	inFlight map[string]*request // by id, verbatim
	watched  map[string]func()   // by task ID of the legacy session, ends the watch
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
		c.desk.Answered(m)
		return Response{}
	}
	return c.serve(ctx, envelope.Parse(m), send)
}

// serve answers one request.
func (c *Conn) serve(ctx context.Context, call envelope.Call, send func(msg []byte)) Response {
	r := &request{conn: c, server: c.server, call: call, stream: notify.Stream{Send: send}}
	handler, refusal := r.accept()
	if refusal != nil {
		return r.refuse(refusal)
	}
	return r.run(ctx, handler)
}

// session returns the protocol version of the legacy session, or "" before initialize.
func (c *Conn) session() string {
	if v := c.version.Load(); v != nil {
		return *v
	}
	return ""
}

// notified processes a notification. Unknown ones are ignored, as JSON-RPC requires.
func (c *Conn) notified(m *envelope.Call) {
	switch m.Method {
	case "notifications/initialized":
		if c.session() != "" && !m.Modern {
			c.ready.Store(true)
			c.once.Do(func() { close(c.readied) })
		}
	case "notifications/cancelled":
		c.cancel(jsonraw.Get(m.Params, "requestId"))
	}
}

// cancel cancels the request in flight with that id. Nothing more is sent for it.
func (c *Conn) cancel(id json.RawMessage) {
	c.mu.Lock()
	r := c.inFlight[string(id)]
	c.mu.Unlock()
	if r != nil {
		r.abandon()
	}
}

// begin registers a request and returns its cancellable context. A quick request is only admitted.
func (c *Conn) begin(ctx context.Context, r *request, quick bool) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ctx, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the connection is closing"}
	}
	if _, dup := c.inFlight[string(r.call.ID)]; dup {
		return ctx, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request with this id is in flight"}
	}
	if quick {
		return ctx, nil
	}
	if len(c.inFlight) >= MaxInFlight {
		return ctx, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many requests in flight",
			Err: &runtime.BusyError{After: time.Second}}
	}
	if c.inFlight == nil {
		c.inFlight = map[string]*request{}
	}
	ctx, r.stop = context.WithCancel(ctx)
	c.inFlight[string(r.call.ID)] = r
	c.running.Add(1)
	return ctx, nil
}

// end unregisters a request of begin.
func (c *Conn) end(r *request) {
	if r.stop == nil {
		return
	}
	r.stop()
	c.mu.Lock()
	delete(c.inFlight, string(r.call.ID))
	c.mu.Unlock()
	c.running.Done()
}

// calls returns the number of requests in flight, without subscriptions.
func (c *Conn) calls() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.inFlight {
		if r.call.Method != listenMethod {
			n++
		}
	}
	return n
}

// Close cancels the requests in flight and waits for them. Later requests are refused.
func (c *Conn) Close() {
	c.cancelAll()
	c.drain()
	c.forgetTasks()
	c.server.forget(c)
}

// cancelAll cancels all requests and refuses new ones.
func (c *Conn) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, r := range c.inFlight {
		r.abandon()
	}
}

// drain refuses new requests and waits for those in flight.
func (c *Conn) drain() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
}

// announcesChanges reports whether a legacy session can receive change notifications.
func (c *Conn) announcesChanges() bool { return c.opts.Notify != nil }

// Waiting returns the number of questions without an answer from the client. A transport that limits concurrent
// calls must not count these calls, as they wait for messages that it has yet to read.
func (c *Conn) Waiting() int { return c.desk.Waiting() }
