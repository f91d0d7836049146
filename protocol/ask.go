package protocol

import (
	"context"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// defaultAskTime is the default time limit for one round of questions. It is long because a person answers.
const defaultAskTime = 10 * time.Minute

// asks reports whether a request of this method may ask the client.
func asks(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// Ask sends one round of plugin questions to the client. Questions that need an undeclared capability are answered
// with an error and never sent.
//
//	legacy   one request per question on the stream of the call; Ask waits for the answers
//	modern   answers come from this request; if they are missing, the run ends and the result asks for them
//	task     of a plugin with kept state: the task publishes the questions; Ask waits for the answers
func (r *request) Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	switch {
	case !asks(r.call.Method):
		return nil, &runtime.AskError{Kind: runtime.KindUnsupported, Message: "no question can be asked in " + jsonrpc.Clip(r.call.Method)}
	case r.task != nil && r.task.Kept:
		return r.askAsTask(ctx, round)
	case r.call.Modern:
		return r.askByResult(round)
	}
	ctx, resume := runtime.Pause(ctx)
	defer resume()
	ctx, cancel := context.WithTimeoutCause(ctx, r.server.opts.AskTime, runtime.ErrUnanswered)
	defer cancel()
	return r.conn.legacy.ask(ctx, round, r.stream.Tell, r.server.calls.next), nil
}

// askByResult answers a round from the answers in the request, or suspends the call.
func (r *request) askByResult(round []runtime.Question) ([]runtime.Answer, error) {
	if list := r.resumption.answered(); list != nil { // the journal has verified that the round is the same
		return inputrequest.Answers(list, len(round))
	}
	list, complete, err := r.Round(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return inputrequest.Answers(list, len(round))
	}
	if err := r.resumption.suspend(list); err != nil {
		return inputrequest.Refuse(len(round), err), nil
	}
	return nil, errSuspended
}

// askAsTask publishes the questions of a kept task and waits for the answers.
func (r *request) askAsTask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	list, complete, err := r.Round(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return inputrequest.Answers(list, len(round))
	}
	ctx, resume := runtime.Pause(ctx)
	defer resume()
	answers, err := r.server.tasks.Ask(ctx, r.task, inputrequest.Requests(list), r.server.opts.AskTime)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if p := &list[i]; p.Open() {
			p.Answer = answers[p.Key]
		}
	}
	return inputrequest.Answers(list, len(round))
}

// Round converts a round of plugin questions to questions for the client, with unused keys. complete reports
// whether all already have answers.
func (r *request) Round(round []runtime.Question) (list []inputrequest.Question, complete bool, err error) {
	var used []string
	if r.task != nil { // keys of a task are never reused
		used = r.task.Asked
	}
	return r.resumption.rounds.Next(round, r.declared(), used)
}

// declared returns the client's capabilities for questions in this request.
func (r *request) declared() inputrequest.Abilities {
	if r.call.Modern {
		return inputrequest.Declared(r.call.Capabilities)
	}
	return r.conn.legacy.declared()
}
