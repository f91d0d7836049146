package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// Handler serves MCP over HTTP. It is safe for concurrent use.
type Handler struct {
	server   server
	options  *Options
	versions versions
	sessions *sessions
	pool     *pool // of sessions that other hosts serve too; nil without a store

	sites         sitePolicy
	authenticator authenticator
	admission     admission
	primer        primer

	bodyTimeout, keepAlive time.Duration

	ctx    context.Context // ends with Close; parent of every call
	cancel context.CancelFunc
	quiet  context.Context // ends with settle
	hush   context.CancelFunc

	following sync.WaitGroup // of the pool
}

// server is the used part of *protocol.Server.
type server interface {
	connect(o protocol.ConnOptions) conn
	HeaderParams(id identity.Identity, tool string) []protocol.HeaderParam
	EndSubscriptions()
}

// conn is the used part of *protocol.Conn.
type conn interface {
	Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response
	HandleBatch(ctx context.Context, data []byte, send func([]byte)) protocol.Response
	State() protocol.SessionState
	Adopt(s protocol.SessionState)
	AnnounceAll()
	Waiting() int
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
		server: srv, options: o, versions: newVersions(envelope.Versions()), sessions: newSessions(o.Sessions, sessionIdle),
		sites:         newSitePolicy(o),
		authenticator: authenticator{tokens: o.Tokens, oauth: o.OAuth, local: o.Local(), behindProxy: o.proxied()},
		admission:     newAdmission(o),
		bodyTimeout:   bodyTimeout, keepAlive: keepAlive,
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.quiet, h.hush = context.WithCancel(h.ctx)
	if h.pool = newPool(h.ctx, o); h.pool != nil {
		h.following.Go(h.follow)
	}
	return h
}

// Close cancels the calls in flight, ends the legacy sessions and waits for their calls. The HTTP server waits for
// other requests. Requests after Close are refused.
func (h *Handler) Close() {
	h.cancel()
	h.sessions.close()
	h.following.Wait()
	if h.pool != nil {
		h.pool.saving.Wait()
	}
}

// settle refuses new requests and ends the streams that would not end by themselves, so that only calls remain. Answers
// and notifications for these calls are still taken.
func (h *Handler) settle() {
	h.hush()
	h.server.EndSubscriptions()
}

// settled reports whether new requests are refused.
func (h *Handler) settled() bool { return h.quiet.Err() != nil }

// leaving reports whether the host will stop, so that clients should use another connection for their next request.
func (h *Handler) leaving() bool {
	select {
	case <-h.options.Leaving:
		return true
	default:
		return h.settled()
	}
}

// shuttingDown refuses a request that another host, or this one after its restart, can serve: nothing of it was done.
func shuttingDown() *refusal {
	return refuse(http.StatusServiceUnavailable, "the server is shutting down").with("Retry-After", "1").closing()
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	threads.Request(soleConn(r))
	x := &exchange{h: h, w: w, r: r, rc: http.NewResponseController(w), body: body{limit: h.options.MaxMessage, memory: h.admission.bodies}}
	now := time.Now()
	x.rc.SetReadDeadline(now.Add(h.bodyTimeout))
	x.rc.SetWriteDeadline(now.Add(writeTimeout)) // replaces the deadline of an earlier request on the connection
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if h.leaving() {
		w.Header().Set("Connection", "close")
	}
	if f := x.serve(); f != nil {
		if x.principal == "" { // an unauthenticated client has one attempt, and little time
			f.close = true
			x.rc.SetReadDeadline(time.Now().Add(min(h.bodyTimeout, strangerTimeout)))
		}
		f.write(w)
	}
	x.body.free()
	x.leave()
}

// exchange is one HTTP request and its response.
type exchange struct {
	h  *Handler
	w  http.ResponseWriter
	r  *http.Request
	rc *http.ResponseController
	caller
	body   body
	placed bool // counted in Handler.requests
}

func (x *exchange) serve() *refusal {
	if f := x.h.admission.checkNetwork(x.r); f != nil {
		return f
	}
	if f, ok := x.metadata(); ok {
		return f
	}
	if f := x.h.sites.checkOrigin(x.w, x.r); f != nil {
		return f
	}
	if f := x.h.sites.checkHost(x.r); f != nil {
		return f
	}
	old, isOld := x.oldSSE()
	if x.r.URL.Path != x.h.options.Path && !isOld {
		return refuse(http.StatusNotFound, "there is nothing here: the endpoint is %s", x.h.options.Path)
	}
	if x.r.Method == http.MethodOptions {
		return preflight(x.w, x.r)
	}
	if f := x.admit(); f != nil {
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
	return notAllowed(x.r)
}

// admit authenticates the request, and counts it toward the limits of its address and its principal.
func (x *exchange) admit() (f *refusal) {
	if f := x.h.admission.checkAddress(x.r); f != nil {
		return f
	}
	if x.caller, f = x.h.authenticator.identify(x.r); f != nil {
		return f
	}
	if f := x.h.admission.place(connOf(x.r), x.principal); f != nil {
		return f
	}
	x.placed = true
	if f := x.h.admission.checkPrincipal(x.principal); f != nil {
		return f
	}
	if x.h.ctx.Err() != nil {
		return shuttingDown()
	}
	return nil
}

// leave ends the count of admit.
func (x *exchange) leave() {
	if x.placed {
		x.placed = false
		x.h.admission.leave(x.principal)
	}
}

func notAllowed(r *http.Request) *refusal {
	why := "method %s is not served"
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		why = "method %s is served within a session of an older protocol version only"
	}
	return refuse(http.StatusMethodNotAllowed, why, clip(r.Method)).with("Allow", "POST, GET, DELETE")
}

func (x *exchange) post() *refusal {
	if f := checkContentType(x.r.Header); f != nil {
		return f
	}
	if f := checkAccept(x.r.Header); f != nil {
		return f
	}
	if f := x.body.read(x.r, x.rc, x.principal); f != nil {
		return f
	}
	if jsonrpc.IsBatch(x.body.data) {
		return x.batch()
	}
	m, err := jsonrpc.Parse(x.body.data)
	if err != nil {
		return malformed(m.ID, err)
	}
	if m.IsRequest() && x.h.settled() {
		f := shuttingDown()
		f.id = m.ID
		return f
	}
	if call := envelope.Parse(&m); x.h.versions.modern(&call, x.r.Header) {
		return x.serveModern(&m, &call.Meta)
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
