package protocol

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// defaultAskTime is how long a client may take for one round: a person reads, thinks, looks something
// up.
const defaultAskTime = 10 * time.Minute

// Ask puts a round of a plugin's questions to the client. What the client did not declare is answered
// at once, and never sent.
//
//	legacy   a request to the client on the stream of this one, for each question; Ask waits
//	modern   the answers that came with this request; else the run ends, and the result of this
//	         request says what is asked
func (r *request) Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	if !asks(r.method) {
		return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "nobody can be asked in " + jsonrpc.Clip(r.method)}
	}
	if r.task != nil && r.task.Kept {
		return r.askKept(ctx, round)
	}
	if r.modern {
		return r.askModern(round)
	}
	return r.askLegacy(ctx, round), nil
}

// asks reports whether something may be asked while a request of this method runs.
func asks(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// declared is what the client can be asked in this request.
func (r *request) declared() ask.Abilities {
	if r.modern {
		return ask.Declared(r.capabilities)
	}
	if c := r.conn.capabilities.Load(); c != nil {
		return *c
	}
	return ask.Abilities{}
}

// askLegacy sends a request for each question and waits for all answers.
func (r *request) askLegacy(ctx context.Context, round []runtime.Question) []runtime.Answer {
	ctx, resume := runtime.Pause(ctx)
	defer resume()
	ctx, cancel := context.WithTimeoutCause(ctx, r.server.opts.AskTime, runtime.ErrUnanswered)
	defer cancel()
	answers := make([]runtime.Answer, len(round))
	if err := r.conn.awaitReady(ctx); err != nil {
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	waits := make([]*ask.Sent, len(round))
	declared := r.declared()
	for i, q := range round {
		if refused := declared.Undeclared(q); refused != nil {
			answers[i].Err = refused
			continue
		}
		waits[i], answers[i].Err = r.conn.desk.Send(q.Method, r.fitLegacy(q, declared), r.stream.Tell)
	}
	for i, w := range waits {
		if w != nil {
			answers[i] = w.Wait(ctx)
			answers[i].Result = ask.Restore(round[i].Params, answers[i].Result, r.conn.session())
		}
	}
	return answers
}

// readyTime is how long a call that asks waits for a client to say that it is ready.
const readyTime = 5 * time.Second

// awaitReady waits for notifications/initialized: until then a session is sent no requests.
func (c *Conn) awaitReady(ctx context.Context) error {
	select {
	case <-c.readied:
		return nil
	default:
	}
	late := time.NewTimer(readyTime)
	defer late.Stop()
	select {
	case <-c.readied:
		return nil
	case <-late.C:
		return &runtime.AskError{Kind: runtime.KindUnavailable, Message: "the client has not said that it is ready (notifications/initialized)"}
	case <-ctx.Done():
		return &runtime.AskError{Kind: runtime.KindUnavailable, Message: "the call is over"}
	}
}

// fitLegacy is what a session is asked. One that knows pages to sign in at wants a name for each visit.
func (r *request) fitLegacy(q runtime.Question, declared ask.Abilities) json.RawMessage {
	version := r.conn.session()
	params := declared.Fit(q, version)
	o, err := rawjson.ParseObject(params)
	if err != nil || version < era.V20251125 || o.Get("url") == nil || q.Method != "elicitation/create" {
		return params
	}
	o.Set("elicitationId", rawjson.AppendString(nil, r.server.nextCall()))
	return o.Append(nil)
}
