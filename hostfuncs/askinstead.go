package hostfuncs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// answerTime is the retry delay reported to a client while a question waits: a person has to read and type.
const answerTime = time.Minute

// askSomebody sends a plugin's round to the client. Elicitations that the client does not support go to the operator,
// if configured. The questions have been checked, and name the plugin.
func askSomebody(ctx context.Context, g *Gate, round []runtime.Question) ([]runtime.Answer, error) {
	answers, err := g.session.ask(ctx, round)
	if err != nil {
		return nil, err
	}
	for i, q := range round {
		var ask *runtime.AskError
		if errors.As(answers[i].Err, &ask) && ask.Requires != nil && g.session.mayAskInstead(q) {
			if answers[i], err = askDesk(ctx, g, q, answers[i]); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

// mayAskInstead reports whether a question may go to the operator. URLs do so only for local callers, since the
// user's actions there must be in the caller's name. Anonymous callers are excluded: they could receive each other's
// answers.
func (s *session) mayAskInstead(q runtime.Question) bool {
	if s.host.options.Forms == nil || q.Method != "elicitation/create" || !identity.Named(s.call.Principal) {
		return false
	}
	return jsonraw.Get(q.Params, "url") == nil || s.local()
}

// askDesk answers one question with a stored answer, or waits for a new one if the call may wait. Otherwise it
// returns a denial stating that the operator was asked. If the operator cannot be asked, it returns the client's own
// answer. An error means that the call is over and must not be journaled.
func askDesk(ctx context.Context, g *Gate, q runtime.Question, client runtime.Answer) (runtime.Answer, error) {
	desk := g.policy.host.options.Forms
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
			hint:   g.session.answerCommand(f),
			later:  answerTime,
		})}, nil
	}
	g.session.notice(ctx, fmt.Sprintf("plugin %q waits for the operator's answer: %s", f.Plugin, g.session.answerCommand(f)))
	wait, resume := runtime.Pause(ctx)
	defer resume()
	answer := desk.Wait(wait, f)
	return runtime.Answer{Result: answer}, over(ctx)
}

// answerCommand returns the command line that answers a form; see command.
func (s *session) answerCommand(f elicit.Form) string {
	if s.local() {
		return s.host.options.Forms.Command(f)
	}
	return "sallyport answer " + f.ID
}
