package protocol

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// request is one request from its acceptance to its response. It implements the client interfaces of the plugin that
// serves it.
type request struct {
	answer // with the request as parsed

	conn   *Conn
	server *Server
	caller identity.Identity
	stream notify.Stream      // messages before the answer, stopped when the request is abandoned
	stop   context.CancelFunc // nil for a quick method

	observed Observation // zero if nobody observes it

	level       notify.Level // of a modern request
	session     string       // selects the instance that is kept for a session. Empty uses a fresh instance
	initialized string       // see Response
	loading     bool         // plugins were still loading behind the last lookup of a name
	task        *task.Task   // the task that this request runs; nil if a client waits
	resumption  resumption   // of a modern request that may ask
}

// newRequest returns a request that sends its messages by send.
func newRequest(c *Conn, call envelope.Call, send func(msg []byte)) *request {
	s := c.server
	r := &request{
		answer: answer{call: call, form: &s.greeting.Form, log: s.log, legacy: &c.legacy, trace: call.Trace()},
		conn:   c, server: s, caller: c.caller, stream: notify.Stream{Send: send, Token: call.Token},
	}
	r.resumption.conn, r.resumption.call = c, &r.call
	return r
}

// admit validates the request by the rules of its era and finds its method.
func (r *request) admit() (method, *jsonrpc.Error) {
	if jsonraw.IsArray(r.call.Params) {
		return method{}, jsonrpc.InvalidParams("params must be an object")
	}
	if r.call.Modern {
		if err := r.call.CheckModern(); err != nil {
			return method{}, err
		}
		r.conn.met(jsonraw.Get(r.call.Client(), "name"))
	}
	m, err := route(&r.call, r.conn.legacy.version())
	if err != nil {
		return m, err
	}
	if err := r.call.CheckToken(); err != nil {
		return m, err
	}
	if r.call.Modern && r.call.LogLevel != nil {
		r.level, err = notify.ReadLevel(r.call.LogLevel)
	}
	return m, err
}

// dispatch calls the handler and converts its outcome to a response.
func (r *request) dispatch(ctx context.Context, m method) Response {
	waits := m.lists && r.server.incomplete()
	ctx, err := r.conn.requests.begin(ctx, r, m.quick && !waits)
	if err != nil {
		return r.respond(ctx, nil, err)
	}
	defer r.conn.requests.end(r)
	if waits {
		r.server.awaitComplete(ctx)
	}
	body, err := r.guard(ctx, m.handle)
	return r.respond(ctx, body, err)
}

// guard runs a handler and converts a panic to an error.
func (r *request) guard(ctx context.Context, h handler) (body []byte, err error) {
	defer catch(&err)
	return h(ctx, r)
}

// catch is deferred to convert a host panic to an error, so that later requests are still served.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = &bugError{value: p, stack: debug.Stack()}
	}
}

// bugError is a panic of the host.
type bugError struct {
	value any
	stack []byte
}

func (e *bugError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// forward converts the request to a catalog call about subject.
func (r *request) forward(subject string) (catalog.Call, error) {
	r.id, r.subject = r.server.calls.next(), subject
	err := r.findSession()
	call := catalog.Call{
		Principal: r.caller.Principal, Roles: r.caller.Roles(), Session: r.session, Params: r.call.Params, Trace: r.trace, Timeout: r.call.Timeout(),
		Client: r, Patient: r.task != nil,
	}
	if err == nil && r.call.Modern && asks(r.call.Method) {
		err = r.resumption.resume(&call, r.task)
	}
	if s := r.resumption.state; s != nil {
		r.id, r.minted = s.Call, s.Session
		if s.Parked == "" {
			call.Session = "" // it began without a session, so its rerun uses a clean instance
		}
	}
	call.ID = r.id
	return call, err
}
