package continuation

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Request is a client request that serves a call.
type Request interface {
	Client
	// Round begins a round of questions; see inputrequest.Rounds.Next.
	Round(round []runtime.Question) (list []inputrequest.Question, complete bool, err error)
}

// ParkedCall is one call that may wait for answers. It implements the client interfaces of its plugin.
type ParkedCall struct {
	// Handle identifies the waiting call.
	Handle string

	lot     *ParkedCalls
	current atomic.Pointer[Request] // newest request, which receives messages and the answer
	cancel  context.CancelFunc

	asked   chan []inputrequest.Question // a round of questions that ends the current request
	answers chan []inputrequest.Question // answers of the next request
	done    chan struct{}                // closed at the end of the call, when these are set
	result  jsonraw.Object
	err     error
}

var _ hostfuncs.Asker = (*ParkedCall)(nil)

// Begin starts a call that may outlive its first request. run must not panic; its Call is the client of the plugin.
func (l *ParkedCalls) Begin(ctx context.Context, r Request, run func(context.Context, *ParkedCall) (jsonraw.Object, error)) *ParkedCall {
	c := &ParkedCall{
		lot: l, Handle: rand.Text(),
		asked: make(chan []inputrequest.Question), answers: make(chan []inputrequest.Question, 1), done: make(chan struct{}),
	}
	c.current.Store(&r)
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() { // bounded by Wait, by the time limit of a wait and by ParkedCalls.Close
		defer close(c.done)
		defer c.cancel()
		c.result, c.err = run(ctx, c)
	}()
	return c
}

// Wait returns the result of the call, or the questions that end the current request.
func (c *ParkedCall) Wait(ctx context.Context) (result jsonraw.Object, asked []inputrequest.Question, err error) {
	select {
	case list := <-c.asked:
		return nil, list, nil
	case <-ctx.Done():
		c.cancel()
		<-c.done
	case <-c.done:
	}
	return c.result, nil, c.err
}

// GoOn resumes the call with the answers and makes r the current request.
func (c *ParkedCall) GoOn(r Request, answers []inputrequest.Question) {
	c.current.Store(&r)
	c.answers <- answers // never blocks: a handle is taken once per round
}

// Ask ends the current request with the round and waits for a request with the answers.
func (c *ParkedCall) Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	list, complete, err := c.request().Round(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return inputrequest.Answers(list, len(round))
	}
	if !c.lot.add(c) {
		return inputrequest.Refuse(len(round), &runtime.AskError{Kind: runtime.KindLimit, Message: "too many calls of plugins that keep state wait for answers"}), nil
	}
	defer c.lot.remove(c)
	ctx, resume := runtime.Pause(ctx)
	defer resume()
	ctx, cancel := context.WithTimeoutCause(ctx, c.lot.within, runtime.ErrUnanswered)
	defer cancel()
	select {
	case c.asked <- list:
	case <-ctx.Done():
		return nil, unanswered(ctx)
	}
	select {
	case list = <-c.answers:
		return inputrequest.Answers(list, len(round))
	case <-ctx.Done():
		return nil, unanswered(ctx)
	}
}

// unanswered returns the error of a call abandoned by its client.
func unanswered(ctx context.Context) error {
	return &runtime.EndError{Kind: runtime.KindTimeout, Message: "the client did not answer in time", Err: context.Cause(ctx)}
}
