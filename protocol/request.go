package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/failure"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/once"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/stream"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// request is one request on its way through the server. To the plugin that serves it, it is the
// client: progress and log messages come here.
type request struct {
	conn   *Conn
	server *Server
	id     json.RawMessage
	method string
	params json.RawMessage
	stream stream.Stream // what the client hears before the answer; stopped when it wants none

	modern      bool
	level       stream.Level // of a modern request
	call        string       // call id, "" until a plugin is asked
	subject     string       // the tool, prompt or URI that is asked for, "" likewise
	initialized string       // see Response

	capabilities json.RawMessage // of a modern request
	resumption   resumption      // of a modern request that may ask
	session      string          // whose kept instance serves it; empty is one of its own
	minted       string          // that session, if this request began it
	task         *task.Task      // that this is a run of; nil if a client waits for the answer

	stop context.CancelFunc

	mu      sync.Mutex
	claim   *once.Claim      // on its idempotency key, while it runs
	touched []string         // changes, in this run of the call
	hints   failure.Hints    // of what fails
	receipt *receipt.Receipt // of the call, when it is over
}

// accept decides the era, holds the request to that era's rules and finds its handler.
func (r *request) accept() (method, *jsonrpc.Error) {
	if rawjson.IsArray(r.params) {
		return method{}, jsonrpc.InvalidParams("params must be an object")
	}
	e := era.Read(r.params)
	r.modern, r.capabilities = e.Modern, e.Capabilities
	if e.Modern {
		if err := e.CheckModern(); err != nil {
			return method{}, err
		}
		r.conn.met(e.Client())
	}
	m, err := r.route()
	if err != nil {
		return m, err
	}
	return m, r.readWishes(&e)
}

// readWishes takes in what the client wants to hear while the request runs.
func (r *request) readWishes(e *era.Envelope) (err *jsonrpc.Error) {
	if e.Token != nil && !rawjson.IsString(e.Token) && !rawjson.IsInteger(e.Token) {
		return jsonrpc.InvalidParams("params._meta.progressToken must be a string or an integer")
	}
	r.stream.Token = e.Token
	if r.modern && e.LogLevel != nil {
		r.level, err = stream.ReadLevel(e.LogLevel)
	}
	return err
}

// refuse answers a request that reached no method.
func (r *request) refuse(err *jsonrpc.Error) Response {
	return Response{Body: jsonrpc.AppendError(nil, r.id, err), Err: err, Modern: r.modern, Refused: true}
}

// run calls the handler and makes its outcome a response.
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

// guarded runs a handler, whose bugs are caught.
func (r *request) guarded(ctx context.Context, h handler) (body []byte, err error) {
	defer catch(&err)
	return h(ctx, r)
}

// catch is deferred where a bug of ours is caught, so that the next request is served.
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

// respond turns a handler's outcome into a response. After it nothing is sent for the request.
func (r *request) respond(ctx context.Context, body []byte, err error) Response {
	r.stream.Finish()
	resp := Response{Body: body, Modern: r.modern, Initialized: r.initialized}
	if r.stream.Stopped() || ctx.Err() == context.Canceled {
		resp = Response{Modern: r.modern}
		r.settle(&resp, context.Canceled)
		return resp
	}
	if err != nil {
		resp.Body, resp.Err = r.failed(err)
		resp.Busy = failure.Busy(err)
	}
	r.settle(&resp, err)
	return resp
}

// abandon cancels the request; the client hears nothing more of it.
func (r *request) abandon() {
	r.stream.Stop()
	r.stop()
}

// member reads a required string out of the params.
func (r *request) member(key string) (string, error) {
	s, ok := rawjson.String(rawjson.Get(r.params, key))
	if !ok {
		return "", jsonrpc.InvalidParams("params.%s must be a string", key)
	}
	return s, nil
}

// unambiguous refuses params in which a key stands twice, or so that some reader takes it for another: what is checked here
// and what a reader in the plugin takes could be different ones.
func (r *request) unambiguous() error {
	path, found := rawjson.AmbiguousKey(r.params)
	if !found {
		return nil
	}
	if _, same := rawjson.DuplicateKey(r.params); same {
		return jsonrpc.InvalidParams("params hold a key twice: %s", jsonrpc.Clip(path))
	}
	return jsonrpc.InvalidParams("params hold a key that readers can take for another one: %s", jsonrpc.Clip(path))
}

// forward makes the registry's form of this request, which is about subject.
func (r *request) forward(subject string) (catalogue.Call, error) {
	r.call, r.subject = r.server.nextCall(), subject
	err := r.findSession()
	call := catalogue.Call{Principal: r.conn.opts.Principal, Session: r.session, Params: r.params, Client: r, Patient: r.task != nil}
	if err == nil && r.modern && asks(r.method) {
		err = r.resume(&call)
	}
	if s := r.resumption.state; s != nil && s.Parked == "" {
		call.Session = "" // it began without one: what is run again is run in a clean instance
	}
	call.ID = r.call
	return call, err
}
