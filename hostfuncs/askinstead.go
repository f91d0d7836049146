package hostfuncs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// answerTime is the retry delay reported to a client while a question waits: a person has to read and type.
const answerTime = time.Minute

// askSomebody sends a plugin's round to the client. Elicitations that the client does not support go to the operator,
// if configured. The questions have been checked, and name the plugin.
func (g *Gate) askSomebody(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	answers, err := g.ask(ctx, round)
	if err != nil {
		return nil, err
	}
	for i, q := range round {
		var ask *runtime.AskError
		if errors.As(answers[i].Err, &ask) && ask.Requires != nil && g.mayAskInstead(q) {
			if answers[i], err = g.askDesk(ctx, q, answers[i]); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

// mayAskInstead reports whether a question may go to the operator. URLs do so only for local callers, since the
// user's actions there must be in the caller's name. Anonymous callers are excluded: they could receive each other's
// answers.
func (g *Gate) mayAskInstead(q runtime.Question) bool {
	if g.policy.host.forms == nil || q.Method != "elicitation/create" || g.call.Principal == "anonymous" {
		return false
	}
	return jsonraw.Get(q.Params, "url") == nil || isLocal(g.call.Principal)
}

// askDesk answers one question with a stored answer, or waits for a new one if the call may wait. Otherwise it
// returns a denial stating that the operator was asked. If the operator cannot be asked, it returns the client's own
// answer. An error means that the call is over and must not be journaled.
func (g *Gate) askDesk(ctx context.Context, q runtime.Question, client runtime.Answer) (runtime.Answer, error) {
	desk := g.policy.host.forms
	f := elicit.Form{Plugin: g.policy.plugin.Name, Digest: g.policy.plugin.Digest, Principal: g.call.Principal, Params: q.Params}
	if answer, ok := desk.Take(ctx, f); ok {
		return runtime.Answer{Result: answer}, nil
	}
	f, ok := desk.Ask(ctx, f)
	if !ok {
		return client, nil
	}
	if !desk.Waits() || g.call.Chain.Depth() > 0 {
		return runtime.Answer{Err: g.deny(effect{family: "elicitation", act: "ask the client's user"}, &refusal{
			reason: "the client takes no questions, so the operator has been asked: repeat the call after the answer",
			hint:   g.answerCommand(f),
			later:  answerTime,
		})}, nil
	}
	g.notice(ctx, fmt.Sprintf("plugin %q waits for the operator's answer: %s", f.Plugin, g.answerCommand(f)))
	wait, resume := runtime.Pause(ctx)
	defer resume()
	answer := desk.Wait(wait, f)
	return runtime.Answer{Result: answer}, over(ctx)
}

// answerCommand returns the command line that answers a form; see command.
func (g *Gate) answerCommand(f elicit.Form) string {
	if isLocal(g.call.Principal) {
		return g.policy.host.forms.Command(f)
	}
	return "sallyport answer " + f.ID
}

// notice tells the client why the call waits.
func (g *Gate) notice(ctx context.Context, text string) {
	if g.call.Client != nil {
		params := append(jsonraw.AppendString([]byte(`{"level":"notice","logger":"sallyport","data":`), text), '}')
		g.call.Client.Message(ctx, params)
	}
}
