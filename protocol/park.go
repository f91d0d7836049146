package protocol

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Bounds on calls that wait where they asked. Each has an instance with its memory, and no other call of its session
// gets past it.
const (
	maxParked = 32
	parkTime  = 5 * time.Minute
)

// errParked is what became of a call that waited here, or does elsewhere.
var errParked = errors.New("requestState belongs to a call that waits no longer, or in another process, since its plugin keeps state there: send the request without it")

// parked is a call of the modern era whose plugin keeps its state. It cannot be run again from its start, so it
// waits where it asked while no request is there, and the request that brings the answers goes on with it.
type parked struct {
	server  *Server
	handle  string
	current atomic.Pointer[request] // the newest request: it hears what the call says, and gets its answer
	cancel  context.CancelFunc

	asked   chan []ask.Question // a round for the current request to end with
	answers chan []ask.Question // what the next one brings
	done    chan struct{}       // closed when the call is over, and these are set
	result  rawjson.Object
	err     error
}

var (
	_ hostfuncs.Asker           = (*parked)(nil)
	_ hostfuncs.DenialListener  = (*parked)(nil)
	_ hostfuncs.RetryListener   = (*parked)(nil)
	_ hostfuncs.Releaser        = (*parked)(nil)
	_ hostfuncs.ReceiptListener = (*parked)(nil)
)

// newParked makes the client of a call that r begins.
func newParked(r *request) *parked {
	p := &parked{
		server: r.server, handle: rand.Text(),
		asked: make(chan []ask.Question), answers: make(chan []ask.Question, 1), done: make(chan struct{}),
	}
	p.current.Store(r)
	return p
}

// start runs the call, which outlives the request that began it.
func (p *parked) start(ctx context.Context, run func(context.Context) (rawjson.Object, error)) {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() { // ends with the call: wait, unpark and the server's end see to it
		defer close(p.done)
		defer p.cancel()
		defer func() {
			if v := recover(); v != nil {
				p.err = &bugError{value: v, stack: debug.Stack()}
			}
		}()
		p.result, p.err = run(ctx)
	}()
}

// wait returns what came of the call, or ends r with the next question.
func (p *parked) wait(ctx context.Context, r *request) (rawjson.Object, error) {
	select {
	case list := <-p.asked:
		m := &r.resumption
		m.pending, m.suspended, m.parked = list, true, p
		return nil, errSuspended
	case <-ctx.Done():
		p.cancel()
		<-p.done
	case <-p.done:
	}
	return p.result, p.err
}

// Ask ends the current request with the round and waits for one that brings the answers.
func (p *parked) Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	r := p.current.Load()
	list, complete, err := r.nextRound(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return ask.Answers(list, len(round))
	}
	if !p.server.parking.add(p) {
		return ask.Refuse(len(round), &runtime.AskError{Kind: runtime.KindLimit, Message: "too many calls of plugins that keep state wait for answers"}), nil
	}
	defer p.server.parking.remove(p)
	ctx, resume := runtime.Pause(ctx)
	defer resume()
	ctx, cancel := context.WithTimeoutCause(ctx, min(parkTime, p.server.opts.AskTime), runtime.ErrUnanswered)
	defer cancel()
	select {
	case p.asked <- list:
	case <-ctx.Done():
		return nil, unanswered(ctx)
	}
	select {
	case list = <-p.answers:
		return ask.Answers(list, len(round))
	case <-ctx.Done():
		return nil, unanswered(ctx)
	}
}

// unanswered ends a call that nobody came back to: there is nobody to tell what comes of it.
func unanswered(ctx context.Context) error {
	return &runtime.EndError{Kind: runtime.KindTimeout, Message: "the client did not answer in time", Err: context.Cause(ctx)}
}

// goOn gives the call the answers that r brings, and r what the call says from now on.
func (p *parked) goOn(r *request, answers []ask.Question) {
	p.current.Store(r)
	p.answers <- answers // there is room: a handle is used once for each question
}

// Progress passes progress on to the current request.
func (p *parked) Progress(ctx context.Context, params json.RawMessage) {
	p.current.Load().Progress(ctx, params)
}

// Message passes a log message on to the current request.
func (p *parked) Message(ctx context.Context, params json.RawMessage) {
	p.current.Load().Message(ctx, params)
}

// Denied tells the current request of a refusal.
func (p *parked) Denied(e *runtime.AskError) { p.current.Load().Denied(e) }

// RetryAfter tells the current request when to come again.
func (p *parked) RetryAfter(ms int64) { p.current.Load().RetryAfter(ms) }

// Release gives the current request's connection back.
func (p *parked) Release() { p.current.Load().Release() }

// Receipt gives the current request the receipt.
func (p *parked) Receipt(receipt receipt.Receipt) { p.current.Load().Receipt(receipt) }

// parking has the calls that wait.
type parking struct {
	mu     sync.Mutex
	calls  map[string]*parked
	closed bool
}

// add takes a call in, unless there are too many.
func (k *parking) add(p *parked) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.calls) >= maxParked {
		return false
	}
	if k.calls == nil {
		k.calls = map[string]*parked{}
	}
	k.calls[p.handle] = p
	return true
}

func (k *parking) remove(p *parked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.calls, p.handle)
}

// take returns the call that waits under a handle, nil if there is none. It can be taken once for each question.
func (k *parking) take(handle string) *parked {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.calls[handle]
	delete(k.calls, handle)
	return p
}

// close ends all that wait.
func (k *parking) close() {
	k.mu.Lock()
	k.closed = true
	calls := k.calls
	k.calls = nil
	k.mu.Unlock()
	for _, p := range calls {
		p.cancel()
		<-p.done
	}
}

// runs performs a call.
type runs func(ctx context.Context, call catalogue.Call) (rawjson.Object, error)

// parsed is a call whose answer is read.
func parsed(ask func(context.Context, catalogue.Call) (json.RawMessage, error), read func(json.RawMessage) (rawjson.Object, error)) runs {
	return func(ctx context.Context, call catalogue.Call) (rawjson.Object, error) {
		raw, err := ask(ctx, call)
		if err != nil {
			return nil, err
		}
		return read(raw)
	}
}

// serve performs a call to an entry. In the modern era one whose plugin keeps its state waits where it asks, and r
// may go on with one that waits.
func (r *request) serve(ctx context.Context, entry interface{ Keeps(session string) bool }, call catalogue.Call, run runs) (rawjson.Object, error) {
	p := r.resumption.parked
	switch {
	case p != nil:
		answers := r.resumption.state.Pending
		r.resumption.parked, r.resumption.state.Pending = nil, nil
		p.goOn(r, answers)
	case r.task != nil && r.task.Kept: // it waits where it asks, as a task
		call.Journal = nil
		return run(ctx, call)
	case !r.modern || !entry.Keeps(call.Session):
		return run(ctx, call)
	default:
		p = newParked(r)
		call.Client, call.Journal = p, nil // no journal: it is not run again
		p.start(ctx, func(ctx context.Context) (rawjson.Object, error) { return run(ctx, call) })
	}
	return p.wait(ctx, r)
}
