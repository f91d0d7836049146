package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// Handler serves MCP over HTTP. It is safe for concurrent use.
type Handler struct {
	server     server
	options    *Options
	origins    []string // from Options, normalized
	checkHost  bool
	local      bool // callers are on this machine
	addresses  *rateLimiter
	principals *rateLimiter
	sessions   *sessions
	bodies     *budget // bytes of large messages
	requests   *budget // in flight
	versions   versions

	bodyTimeout, keepAlive time.Duration

	ctx    context.Context // ends with Close; parent of every call
	cancel context.CancelFunc
	quiet  context.Context // ends with settle
	hush   context.CancelFunc
}

// server is the used part of *protocol.Server.
type server interface {
	connect(o protocol.ConnOptions) conn
	HeaderParams(tool string) []protocol.HeaderParam
	EndSubscriptions()
}

// conn is the used part of *protocol.Conn.
type conn interface {
	Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response
	HandleBatch(ctx context.Context, data []byte, send func([]byte)) protocol.Response
	Close()
}

var _ conn = (*protocol.Conn)(nil)

type protocolServer struct{ *protocol.Server }

func (s protocolServer) connect(o protocol.ConnOptions) conn { return s.Connect(o) }

// NewHandler returns a handler for srv. The options for listening matter too: the permitted hosts and origins depend
// on whether the listener is on loopback. The caller must close it.
func NewHandler(srv *protocol.Server, o *Options) *Handler {
	return newHandler(protocolServer{srv}, o)
}

func newHandler(srv server, o *Options) *Handler {
	o = o.withDefaults()
	h := &Handler{
		server: srv, options: o,
		checkHost: o.loopback() && !o.BehindProxy,
		local:     o.Local(),
		addresses: newRateLimiter(o.Rate.PerSecond, o.Rate.Burst), principals: newRateLimiter(o.Rate.PerSecond, o.Rate.Burst),
		sessions:    newSessions(o.Sessions, o.SessionIdle),
		versions:    newVersions(envelope.Versions()),
		bodyTimeout: bodyTimeout, keepAlive: keepAlive,
	}
	if o.socket() != "" && !o.BehindProxy {
		h.addresses = nil // the peer address is always the same
	}
	for _, origin := range o.Origins {
		h.origins = append(h.origins, normalOrigin(origin))
	}
	h.bodies = newBudget(o.Bodies, max(o.Bodies/4, 2*o.MaxMessage), newNotice(o.Logger, "http.bodies"))
	h.requests = newBudget(o.Connections, o.Connections-o.Connections/4, newNotice(o.Logger, "http.connections"))
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.quiet, h.hush = context.WithCancel(h.ctx)
	return h
}

// Close cancels the calls in flight, ends the legacy sessions and waits for their calls. The HTTP server waits for
// other requests. Requests after Close are refused.
func (h *Handler) Close() {
	h.cancel()
	h.sessions.close()
}

// settle ends the streams that would not end by themselves, so that only calls remain.
func (h *Handler) settle() {
	h.server.EndSubscriptions()
	h.hush()
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{h: h, w: w, r: r, rc: http.NewResponseController(w)}
	now := time.Now()
	x.rc.SetReadDeadline(now.Add(h.bodyTimeout))
	x.rc.SetWriteDeadline(now.Add(writeTimeout)) // replaces the deadline of an earlier request on the connection
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if f := x.serve(); f != nil {
		if x.principal == "" { // an unauthenticated client has one attempt, and little time
			f.close = true
			x.rc.SetReadDeadline(time.Now().Add(min(h.bodyTimeout, strangerTimeout)))
		}
		f.write(w)
	}
	h.bodies.giveBack(x.principal, x.borrowed)
	if x.placed {
		h.requests.giveBack(x.principal, 1)
	}
}

// exchange is one HTTP request and its response.
type exchange struct {
	h         *Handler
	w         http.ResponseWriter
	r         *http.Request
	rc        *http.ResponseController
	principal string
	proof     string // proof of the principal's token
	body      []byte
	borrowed  int  // bytes taken from Handler.bodies
	placed    bool // counted in Handler.requests
}

// checks runs the checks in order until one refuses.
func checks(list ...func() *refusal) *refusal {
	for _, check := range list {
		if f := check(); f != nil {
			return f
		}
	}
	return nil
}

func (x *exchange) serve() *refusal {
	if f := checks(x.origin, x.host); f != nil {
		return f
	}
	old, isOld := x.oldSSE()
	if x.r.URL.Path != x.h.options.Path && !isOld {
		return refuse(http.StatusNotFound, "there is nothing here: the endpoint is %s", x.h.options.Path)
	}
	if x.r.Method == http.MethodOptions {
		return x.preflight()
	}
	if f := checks(x.addressRate, x.authenticate, x.place, x.principalRate, x.open); f != nil {
		return f
	}
	if isOld {
		return old()
	}
	switch x.r.Method {
	case http.MethodPost:
		return x.post()
	case http.MethodGet:
		return x.get()
	case http.MethodDelete:
		return x.delete()
	}
	return x.notAllowed()
}

func (x *exchange) notAllowed() *refusal {
	why := "method %s is not served"
	if x.r.Method == http.MethodGet || x.r.Method == http.MethodDelete {
		why = "method %s is served within a session of an older protocol version only"
	}
	return refuse(http.StatusMethodNotAllowed, why, clip(x.r.Method)).with("Allow", "POST, GET, DELETE")
}

// open refuses requests to a closed handler.
func (x *exchange) open() *refusal {
	if x.h.ctx.Err() != nil {
		return refuse(http.StatusServiceUnavailable, "the server is shutting down")
	}
	return nil
}

func (x *exchange) post() *refusal {
	if f := checks(x.contentType, x.accept, x.read); f != nil {
		return f
	}
	if jsonrpc.IsBatch(x.body) {
		return x.batch()
	}
	m, err := jsonrpc.Parse(x.body)
	if err != nil {
		return malformed(m.ID, err)
	}
	if x.modern(&m) {
		return x.serveModern(&m)
	}
	return x.serveLegacy(&m)
}

func malformed(id json.RawMessage, err error) *refusal {
	f := refuse(http.StatusBadRequest, "%v", err)
	f.id, f.null = id, true
	if e, ok := err.(*jsonrpc.Error); ok {
		f.err = e
	}
	return f
}
