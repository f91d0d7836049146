package protocol

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// defaultAskTime is the default time limit for one round of questions. It is long because a person answers.
const defaultAskTime = 10 * time.Minute

// Ask sends one round of plugin questions to the client. Questions that need an undeclared capability are answered
// with an error and never sent.
//
//	legacy   one request per question on the stream of the call; Ask waits for the answers
//	modern   answers come from this request; if they are missing, the run ends and the result asks for them
func (r *request) Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	if !asks(r.call.Method) {
		return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "no question can be asked in " + jsonrpc.Clip(r.call.Method)}
	}
	if r.task != nil && r.task.Kept {
		return r.askKept(ctx, round)
	}
	if r.call.Modern {
		return r.askModern(round)
	}
	return r.askLegacy(ctx, round), nil
}

// asks reports whether a request of this method may ask the client.
func asks(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// declared returns the client's capabilities for questions in this request.
func (r *request) declared() inputrequest.Abilities {
	if r.call.Modern {
		return inputrequest.Declared(r.call.Capabilities)
	}
	if c := r.conn.capabilities.Load(); c != nil {
		return *c
	}
	return inputrequest.Abilities{}
}

// askLegacy sends one request per question and waits for all answers.
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
	waits := make([]*inputrequest.Sent, len(round))
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
			answers[i].Result = inputrequest.Restore(round[i].Params, answers[i].Result, r.conn.session())
		}
	}
	return answers
}

// readyTime is the time limit for notifications/initialized when a call asks.
const readyTime = 5 * time.Second

// awaitReady waits for notifications/initialized. Before it, the server sends no requests in a session.
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

// fitLegacy returns the params of a question in a legacy session. URL-mode elicitation requires an elicitationId
// since 2025-11-25.
func (r *request) fitLegacy(q runtime.Question, declared inputrequest.Abilities) json.RawMessage {
	version := r.conn.session()
	params := declared.Fit(q, version)
	o, err := jsonraw.ParseObject(params)
	if err != nil || version < envelope.V20251125 || o.Get("url") == nil || q.Method != "elicitation/create" {
		return params
	}
	o.Set("elicitationId", jsonraw.AppendString(nil, r.server.nextCall()))
	return o.Append(nil)
}
