package parked

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Request is a request that a call is served for.
type Request interface {
	Client
	// Round begins a round of questions; see ask.Rounds.Next.
	Round(round []runtime.Question) (list []inputrequest.Question, complete bool, err error)
}

// Call is one call that may wait. To the plugin it is the client.
type Call struct {
	// Handle finds the call while it waits.
	Handle string

	lot     *Lot
	current atomic.Pointer[Request] // the newest: it hears what the call says, and gets its answer
	cancel  context.CancelFunc

	asked   chan []inputrequest.Question // a round for the current request to end with
	answers chan []inputrequest.Question // what the next one brings
	done    chan struct{}                // closed when the call is over, and these are set
	result  jsonraw.Object
	err     error
}

var _ hostfuncs.Asker = (*Call)(nil)

// Begin runs a call, which outlives the request that begins it. run must not panic; the call is its client.
func (l *Lot) Begin(ctx context.Context, r Request, run func(context.Context, *Call) (jsonraw.Object, error)) *Call {
	c := &Call{
		lot: l, Handle: rand.Text(),
		asked: make(chan []inputrequest.Question), answers: make(chan []inputrequest.Question, 1), done: make(chan struct{}),
	}
	c.current.Store(&r)
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() { // ends with the call: Wait, the time that it may wait and Lot.Close see to it
		defer close(c.done)
		defer c.cancel()
		c.result, c.err = run(ctx, c)
	}()
	return c
}

// Wait returns what came of the call, or the questions with which the current request ends.
func (c *Call) Wait(ctx context.Context) (result jsonraw.Object, asked []inputrequest.Question, err error) {
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

// GoOn gives the call the answers that a request brings, and the request what the call says from now on.
func (c *Call) GoOn(r Request, answers []inputrequest.Question) {
	c.current.Store(&r)
	c.answers <- answers // there is room: a handle is used once for each question
}

// Ask ends the current request with the round and waits for one that brings the answers.
func (c *Call) Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
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

// unanswered ends a call that nobody came back to: there is nobody to tell what comes of it.
func unanswered(ctx context.Context) error {
	return &runtime.EndError{Kind: runtime.KindTimeout, Message: "the client did not answer in time", Err: context.Cause(ctx)}
}
