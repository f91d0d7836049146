package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Asker is implemented by a Client that accepts questions while the call runs.
type Asker interface {
	// Ask sends the questions to the client as one round and waits for the answers, equal in number and order. An
	// answer's Err is a *runtime.AskError: the client does not support the question, or refused it. A returned error
	// concerns the whole round and ends the call. The questions are checked and name the plugin. Ask runs on the
	// guest's goroutine, one round at a time.
	Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error)
}

var _ runtime.Rounds = (*Gate)(nil)

// question handles one method that asks the client.
type question struct {
	// prepare checks the params, rewrites them for the client, and returns the effect.
	prepare func(g *Gate, params json.RawMessage) (json.RawMessage, effect, error)
	// accept checks the client's answer to the prepared params.
	accept func(asked, answer json.RawMessage) (json.RawMessage, error)
}

// questions returns the methods that ask the client.
func questions() map[string]question {
	return map[string]question{
		"elicitation/create":     {prepareElicitation, acceptElicitation},
		"sampling/createMessage": {prepareSampling, acceptSampling},
		"roots/list":             {prepareRoots, acceptRoots},
	}
}

// asked serves a single question outside a round.
func asked(name string) method {
	return func(g *Gate, ctx context.Context, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
		a := g.askClient(ctx, []runtime.Question{{Method: name, Params: params}})[0]
		return a.Result, a.Err
	}
}

// AskRound performs a round. All other requests run first, in order, then the questions to the client are sent
// together. The round stops at the first request that ends the call, and later requests are not performed.
func (g *Gate) AskRound(ctx context.Context, round []runtime.Question, s runtime.Streams) []runtime.Answer {
	if g.ended != nil {
		return refuseAll(len(round), g.ended)
	}
	answers := make([]runtime.Answer, len(round))
	var together []runtime.Question
	var places []int
	for i, q := range round {
		if _, client := g.policy.host.questions[q.Method]; client {
			together, places = append(together, q), append(places, i)
			continue
		}
		if answers[i].Result, answers[i].Err = g.Ask(ctx, q.Method, q.Params, s); g.ended != nil {
			return refuseAll(len(round), g.ended)
		}
	}
	if len(together) > 0 {
		for i, a := range g.askClient(ctx, together) {
			answers[places[i]] = a
			g.noteEnd(a.Err)
		}
	}
	return answers
}

// askClient checks each question against the grants, sends the allowed ones to the client, and checks the answers.
func (g *Gate) askClient(ctx context.Context, round []runtime.Question) []runtime.Answer {
	answers := make([]runtime.Answer, len(round))
	var send []runtime.Question
	var places []int
	for i, q := range round {
		prepared, err := g.prepare(ctx, q)
		if err != nil {
			answers[i].Err = asAskError(err)
			continue
		}
		send, places = append(send, prepared), append(places, i)
	}
	for i, a := range g.journaledRound(ctx, send, g.askSomebody) {
		if a.Err == nil {
			a.Result, a.Err = g.policy.host.questions[send[i].Method].accept(send[i].Params, a.Result)
		}
		answers[places[i]] = a
	}
	return answers
}

// prepare checks one question against the policy.
func (g *Gate) prepare(ctx context.Context, q runtime.Question) (runtime.Question, error) {
	params, e, err := g.policy.host.questions[q.Method].prepare(g, q.Params)
	if err == nil {
		err = g.pass(ctx, e)
	}
	q.Params = g.Redact(params)
	return q, err
}

// ask sends a round to the client. The error ends the call.
func (g *Gate) ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	c, ok := g.call.Client.(Asker)
	if !ok {
		return refuseAll(len(round), askErrorf(runtime.KindUnsupported, "this call cannot ask questions")), nil
	}
	answers, err := c.Ask(ctx, round)
	switch {
	case err == nil && len(answers) != len(round):
		return nil, errors.New("the client's answers are not as many as the questions")
	case err != nil && over(ctx) != nil:
		return refuseAll(len(round), over(ctx)), nil
	}
	return answers, err
}

func refuseAll(n int, err error) []runtime.Answer {
	return slices.Repeat([]runtime.Answer{{Err: err}}, n)
}

// unasked is a client that receives a call's messages but no questions.
type unasked struct{ Client }

// Denied forwards a denial.
func (u unasked) Denied(e *runtime.AskError) {
	if l, ok := u.Client.(DenialListener); ok {
		l.Denied(e)
	}
}

// innerClient returns the client for nested calls. With a journal, a question ends the call, which is replayed with
// the answer. Nested calls then cannot ask, because the journal holds only their outcome, not their steps.
func (g *Gate) innerClient() Client {
	if g.call.Journal == nil || g.call.Client == nil {
		return g.call.Client
	}
	return unasked{g.call.Client}
}

// roundFamily joins the methods of a round, for the journal.
func roundFamily(round []runtime.Question) string {
	names := make([]string, len(round))
	for i, q := range round {
		names[i] = q.Method
	}
	return strings.Join(names, ", ")
}

// maxQuestion limits the params of one question, in bytes: a form or a conversation, not a file.
const maxQuestion = 256 << 10

// questionParams parses the params of a question, which may be absent, and returns the given members without
// invisible characters. Other members are removed, because a client that answers automatically could act on them:
// _meta and task are between host and client.
func (g *Gate) questionParams(params json.RawMessage, members ...string) (jsonraw.Object, error) {
	if len(params) > maxQuestion {
		return nil, askErrorf(runtime.KindLimit, "a question is longer than %d bytes", maxQuestion)
	}
	if jsonraw.IsNull(params) {
		return nil, nil
	}
	o, err := jsonraw.ParseObject(params)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "the params of a question are not an object: %v", err)
	}
	if path, twice := jsonraw.AmbiguousKey(params); twice { // a client could read another of the keys
		return nil, askErrorf(runtime.KindInvalid, "the params of a question have %s twice", cut(path, maxMethod))
	}
	o = slices.DeleteFunc(o, func(m jsonraw.Member) bool { return !slices.Contains(members, m.Key) })
	for i, m := range o {
		value, removed := sanitize.JSON(m.Value, nil)
		o[i].Value = value
		g.Cleaned(removed, 0)
	}
	return o, nil
}

// prepareRoots prepares roots/list, which has no params.
func prepareRoots(g *Gate, params json.RawMessage) (json.RawMessage, effect, error) {
	_, err := g.questionParams(params)
	return json.RawMessage("{}"), effect{family: "roots", act: "list the client's roots", decide: (*grant.Set).Roots}, err
}

// acceptRoots requires a list of file:// URLs.
func acceptRoots(_, answer json.RawMessage) (json.RawMessage, error) {
	list := jsonraw.Get(answer, "roots")
	if len(list) == 0 || list[0] != '[' {
		return nil, badAnswer("has no roots")
	}
	s := jsonraw.ScanArray(list)
	for s.Next() {
		if uri, ok := jsonraw.String(jsonraw.Get(s.Value, "uri")); !ok || !strings.HasPrefix(uri, "file://") {
			return nil, badAnswer("has a root that is no file:// address")
		}
	}
	return answered(answer, "roots")
}

// answered returns the given members of an answer. It rejects ambiguous keys, which a case-insensitive guest would
// confuse.
func answered(answer json.RawMessage, members ...string) (json.RawMessage, error) {
	o, err := jsonraw.ParseObject(answer)
	if err != nil {
		return nil, badAnswer("is not an object")
	}
	if path, twice := jsonraw.AmbiguousKey(answer); twice {
		return nil, badAnswer("has %s twice", cut(path, maxMethod))
	}
	return slices.DeleteFunc(o, func(m jsonraw.Member) bool { return !slices.Contains(members, m.Key) }).Append(nil), nil
}

func badAnswer(format string, args ...any) error {
	return askErrorf(runtime.KindUnavailable, "the client's answer "+format, args...)
}
