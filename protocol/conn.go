package protocol

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/stream"
	"github.com/sallyport-mcp/sallyport/protocol/subscription"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxInFlight is how many requests of one Conn may run at the same time. An agent runs a handful
// in parallel; the bound keeps one client from filling the memory with waiting calls.
const MaxInFlight = 1024

// ConnOptions say what a transport knows about a client.
type ConnOptions struct {
	// Principal is whose calls these are, such as stdio:1000; "" is anonymous.
	Principal string
	// Proof tells the principal from others that have its name with another server: a call that waits for answers is
	// sealed for both. Empty is that the name says it all.
	Proof string
	// Session names the connection, if it is one client's from its beginning to its end: what a plugin keeps
	// for a session is found by it. Empty keeps nothing.
	Session string
	// Notify sends a message that belongs to no request; nil means that there is no way to. It may be
	// called from any goroutine, must not wait long and must not call back into the Conn. A call
	// that has begun may outlast Close.
	Notify func(msg []byte)
	// Heard reports whether somebody reads what Notify sends, now; nil is that it is not known. It is called like
	// Notify.
	Heard func() bool
}

// Response is what Handle leaves for the transport to do.
type Response struct {
	// Body is the message to send, one line of JSON; nil means that nothing is sent: a request was cancelled. Where
	// each request has to have an answer, that is Cancelled.
	Body []byte
	// Err is the error that Body carries, for a transport that shows it otherwise too.
	Err *jsonrpc.Error
	// Modern says that the request was of the modern era.
	Modern bool
	// Refused says that Err was found before any method ran: in the envelope, the version, the
	// method's name. HTTP shows it as 404 for CodeMethodNotFound and as 400 for other codes; an
	// error of a request that was not refused is an answer like any other, and HTTP's is 200.
	Refused bool
	// Busy is not 0 if the request has not begun for want of room, which Err says: how long to wait before it
	// is sent again. HTTP shows it as 503 with Retry-After.
	Busy time.Duration
	// Initialized is the protocol version that a successful initialize agreed on, else "".
	Initialized string
}

// Conn is one client's side of the server. It is safe for concurrent use.
type Conn struct {
	server *Server
	opts   ConnOptions

	// version is the legacy session's protocol version, nil before initialize.
	version atomic.Pointer[string]
	// ready is set by notifications/initialized.
	ready   atomic.Bool
	once    sync.Once
	readied chan struct{} // closed when it was, once
	// capabilities are what the legacy session's client can be asked, nil before initialize.
	capabilities atomic.Pointer[ask.Abilities]
	// client is how the client calls itself; nil before it has said so.
	client atomic.Pointer[string]
	// level is the legacy session's log level.
	level atomic.Int32

	subscriptions subscription.Set
	desk          ask.Desk // of the legacy session

	running sync.WaitGroup // requests in flight; Add happens under mu, and not once closed is set

	mu       sync.Mutex
	closed   bool
	inFlight map[string]*request // by id, verbatim
	watched  map[string]func()   // ends the watch of a task, of the legacy session, by ID
}

// Handle answers one message. For a request it returns when the answer is ready; for anything else
// Body is nil. Until it returns, send gets the messages that come before the result of this
// request, one at a time; each is one line of JSON and belongs to send. Nil in place of a message says that
// the client's connection may end before the result, where the client can come back for it. A request whose ctx ends,
// or that the client cancels, has no answer.
//
// A transport hands in notifications in the order they came, and does not wait for requests.
func (c *Conn) Handle(ctx context.Context, m *jsonrpc.Message, send func(msg []byte)) Response {
	switch {
	case m.IsNotification():
		c.notified(m)
		return Response{Modern: era.IsModern(m)}
	case !m.IsRequest():
		c.desk.Answered(m)
		return Response{}
	}
	r := &request{conn: c, server: c.server, id: m.ID, method: m.Method, params: m.Params, stream: stream.Stream{Send: send}}
	handler, refusal := r.accept()
	if refusal != nil {
		return r.refuse(refusal)
	}
	return r.run(ctx, handler)
}

// session returns the legacy session's protocol version, "" before initialize.
func (c *Conn) session() string {
	if v := c.version.Load(); v != nil {
		return *v
	}
	return ""
}

// notified takes in a notification. Those it does not know are ignored, as JSON-RPC asks.
func (c *Conn) notified(m *jsonrpc.Message) {
	switch m.Method {
	case "notifications/initialized":
		if c.session() != "" && !era.IsModern(m) {
			c.ready.Store(true)
			c.once.Do(func() { close(c.readied) })
		}
	case "notifications/cancelled":
		c.cancel(rawjson.Get(m.Params, "requestId"))
	}
}

// cancel ends the request with that id, if it runs. Nothing is sent for it any more.
func (c *Conn) cancel(id json.RawMessage) {
	c.mu.Lock()
	r := c.inFlight[string(id)]
	c.mu.Unlock()
	if r != nil {
		r.abandon()
	}
}

// begin books a request in, and gives it the context that cancel ends. A quick one is only
// admitted.
func (c *Conn) begin(ctx context.Context, r *request, quick bool) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ctx, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the connection is closing"}
	}
	if _, dup := c.inFlight[string(r.id)]; dup {
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
	c.inFlight[string(r.id)] = r
	c.running.Add(1)
	return ctx, nil
}

// end is the counterpart of begin.
func (c *Conn) end(r *request) {
	if r.stop == nil {
		return
	}
	r.stop()
	c.mu.Lock()
	delete(c.inFlight, string(r.id))
	c.mu.Unlock()
	c.running.Done()
}

// calls is how many requests are in flight beside subscriptions.
func (c *Conn) calls() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.inFlight {
		if r.method != listenMethod {
			n++
		}
	}
	return n
}

// Close cancels what runs and waits for it. Requests after Close are refused.
func (c *Conn) Close() {
	c.cancelAll()
	c.drain()
	c.forgetTasks()
	c.server.forget(c)
}

// cancelAll cancels every request and lets no other in.
func (c *Conn) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, r := range c.inFlight {
		r.abandon()
	}
}

// drain lets no other request in and waits for those that run.
func (c *Conn) drain() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
}

// announcesChanges reports whether a legacy session can be told about changes.
func (c *Conn) announcesChanges() bool { return c.opts.Notify != nil }

// Waiting returns how many questions wait for the client's answers. Whoever bounds the calls that run at
// once must go on reading while this many of them wait for what it reads.
func (c *Conn) Waiting() int { return c.desk.Waiting() }
