package protocol

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/idempotency"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// request is the state of one request in the server. It implements the client interfaces of the plugin that serves
// it.
type request struct {
	conn   *Conn
	server *Server
	call   envelope.Call
	stream notify.Stream // messages before the answer, stopped when the request is abandoned

	level       notify.Level // of a modern request
	callID      string       // "" before, "" before a plugin is called
	subject     string       // tool, prompt or URI, "" before a plugin is called
	initialized string       // see Response

	resumption resumption // of a modern request that may ask
	session    string     // selects the instance that is kept for a session. Empty uses a fresh instance
	minted     string     // the session, if this request began it
	task       *task.Task // the task that this request runs; nil if a client waits

	stop context.CancelFunc

	mu      sync.Mutex
	claim   *idempotency.Claim // claim on its idempotency key, while it runs
	touched []string           // intended effects of this run
	hints   result.Hints       // for a failure text
	receipt *receipt.Receipt   // of the call, after its end
}

// accept determines the era, validates the envelope by its rules and finds the handler.
func (r *request) accept() (method, *jsonrpc.Error) {
	if jsonraw.IsArray(r.call.Params) {
		return method{}, jsonrpc.InvalidParams("params must be an object")
	}
	if r.call.Modern {
		if err := r.call.CheckModern(); err != nil {
			return method{}, err
		}
		r.conn.met(r.call.Client())
	}
	m, err := r.route()
	if err != nil {
		return m, err
	}
	return m, r.prepareStream()
}

// prepareStream applies the progress token and the log level of the request.
func (r *request) prepareStream() (err *jsonrpc.Error) {
	if err := r.call.CheckToken(); err != nil {
		return err
	}
	r.stream.Token = r.call.Token
	if r.call.Modern && r.call.LogLevel != nil {
		r.level, err = notify.ReadLevel(r.call.LogLevel)
	}
	return err
}

// refuse answers a request rejected before its method.
func (r *request) refuse(err *jsonrpc.Error) Response {
	return Response{Body: jsonrpc.AppendError(nil, r.call.ID, err), Err: err, Modern: r.call.Modern, Refused: true}
}

// run calls the handler and converts its outcome to a response.
func (r *request) run(ctx context.Context, m method) Response {
	waits := m.lists && r.server.incomplete()
	ctx, err := r.conn.begin(ctx, r, m.quick && !waits)
	if err != nil {
		return r.respond(ctx, nil, err)
	}
	defer r.conn.end(r)
	if waits {
		r.server.awaitWhole(ctx)
	}
	body, err := r.guarded(ctx, m.handle)
	return r.respond(ctx, body, err)
}

// guarded runs a handler and converts a panic to an error.
func (r *request) guarded(ctx context.Context, h handler) (body []byte, err error) {
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

// respond converts the outcome of a handler to a response. Nothing is sent for the request afterwards.
func (r *request) respond(ctx context.Context, body []byte, err error) Response {
	r.stream.Finish()
	resp := Response{Body: body, Modern: r.call.Modern, Initialized: r.initialized}
	if r.stream.Stopped() || ctx.Err() == context.Canceled {
		resp = Response{Modern: r.call.Modern}
		r.settle(&resp, context.Canceled)
		return resp
	}
	if err != nil {
		resp.Body, resp.Err = r.failed(err)
		resp.Busy = result.Busy(err)
	}
	r.settle(&resp, err)
	return resp
}

// abandon cancels the request and stops its messages to the client.
func (r *request) abandon() {
	r.stream.Stop()
	r.stop()
}

// forward converts the request to a catalog call about subject.
func (r *request) forward(subject string) (catalog.Call, error) {
	r.callID, r.subject = r.server.nextCall(), subject
	err := r.findSession()
	call := catalog.Call{
		Principal: r.conn.opts.Principal, Session: r.session, Params: r.call.Params, Trace: r.call.Trace(), Timeout: r.call.Timeout(),
		Client: r, Patient: r.task != nil,
	}
	if err == nil && r.call.Modern && asks(r.call.Method) {
		err = r.resume(&call)
	}
	if s := r.resumption.state; s != nil && s.Parked == "" {
		call.Session = "" // it began without a session, so its rerun uses a clean instance
	}
	call.ID = r.callID
	return call, err
}
