package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/clean"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Asker is met by a Client that can be asked something while the call runs.
type Asker interface {
	// Ask puts the questions to the client as one round and waits for the answers, which are as many
	// and in the same order. An answer's Err is an *runtime.AskError: this client cannot be asked that,
	// or it refused. The error is about the whole round and ends the call. The questions are checked
	// and name the plugin. It is called on the guest's goroutine, one round at a time.
	Ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error)
}

var _ runtime.Rounds = (*Gate)(nil)

// question is one kind of thing that a client can be asked.
type question struct {
	// prepare checks the params and makes them what the client gets, and says which effect it is.
	prepare func(g *Gate, params json.RawMessage) (json.RawMessage, effect, error)
	// accept checks what the client answered to the prepared params.
	accept func(asked, answer json.RawMessage) (json.RawMessage, error)
}

// questions are what a client can be asked, by method.
func questions() map[string]question {
	return map[string]question{
		"elicitation/create":     {prepareElicitation, acceptElicitation},
		"sampling/createMessage": {prepareSampling, acceptSampling},
		"roots/list":             {prepareRoots, acceptRoots},
	}
}

// asked serves a question that is not part of a round.
func asked(name string) method {
	return func(g *Gate, ctx context.Context, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
		a := g.askClient(ctx, []runtime.Question{{Method: name, Params: params}})[0]
		return a.Result, a.Err
	}
}

// AskRound performs a round: what the client is asked it is asked at once, after everything else was
// done in order. It stops at the first request that ends the call, and nothing after that is done.
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

// askClient checks each question against the grants, asks the client those that may be asked, and
// checks the answers.
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

// prepare passes one question through the gate.
func (g *Gate) prepare(ctx context.Context, q runtime.Question) (runtime.Question, error) {
	params, e, err := g.policy.host.questions[q.Method].prepare(g, q.Params)
	if err == nil {
		err = g.pass(ctx, e)
	}
	q.Params = g.Redact(params)
	return q, err
}

// ask puts a round to the client. The error ends the call.
func (g *Gate) ask(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
	c, ok := g.call.Client.(Asker)
	if !ok {
		return refuseAll(len(round), askErrorf(runtime.KindUnsupported, "nobody can be asked in this call")), nil
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

// unasked is a client that hears what a call says, and is not asked by it.
type unasked struct{ Client }

// Denied passes a refusal on.
func (u unasked) Denied(e *runtime.AskError) {
	if l, ok := u.Client.(DenialListener); ok {
		l.Denied(e)
	}
}

// innerClient is the client of a call within this one. Where a question ends the call, so that it is run
// again with the answer, a call within it cannot ask: the journal knows what came of it, not how.
func (g *Gate) innerClient() Client {
	if g.call.Journal == nil || g.call.Client == nil {
		return g.call.Client
	}
	return unasked{g.call.Client}
}

// families names the methods of a round, for the journal.
func families(round []runtime.Question) string {
	names := make([]string, len(round))
	for i, q := range round {
		names[i] = q.Method
	}
	return strings.Join(names, ", ")
}

// maxQuestion bounds the params of one question, in bytes: a form or a conversation, not a file.
const maxQuestion = 256 << 10

// questionParams reads the params of a question, which may be absent: the members that the protocol has, without
// what nobody sees. Whatever else a guest writes there is no part of a question, and could be one to a client
// that answers by itself: _meta and task are between host and client.
func (g *Gate) questionParams(params json.RawMessage, members ...string) (rawjson.Object, error) {
	if len(params) > maxQuestion {
		return nil, askErrorf(runtime.KindLimit, "a question is longer than %d bytes", maxQuestion)
	}
	if rawjson.IsNull(params) {
		return nil, nil
	}
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "the params of a question are not an object: %v", err)
	}
	if path, twice := rawjson.AmbiguousKey(params); twice { // what is checked here need not be what a client shows
		return nil, askErrorf(runtime.KindInvalid, "the params of a question have %s twice", cut(path, maxMethod))
	}
	o = slices.DeleteFunc(o, func(m rawjson.Member) bool { return !slices.Contains(members, m.Key) })
	for i, m := range o {
		value, removed := clean.JSON(m.Value, nil)
		o[i].Value = value
		g.Cleaned(removed, 0)
	}
	return o, nil
}

// prepareRoots takes roots/list, which has no params.
func prepareRoots(g *Gate, params json.RawMessage) (json.RawMessage, effect, error) {
	_, err := g.questionParams(params)
	return json.RawMessage("{}"), effect{family: "roots", act: "list the client's roots", decide: (*grant.Set).Roots}, err
}

// acceptRoots wants a list of addresses of files.
func acceptRoots(_, answer json.RawMessage) (json.RawMessage, error) {
	list := rawjson.Get(answer, "roots")
	if len(list) == 0 || list[0] != '[' {
		return nil, badAnswer("has no roots")
	}
	s := rawjson.ScanArray(list)
	for s.Next() {
		if uri, ok := rawjson.String(rawjson.Get(s.Value, "uri")); !ok || !strings.HasPrefix(uri, "file://") {
			return nil, badAnswer("has a root that is no file:// address")
		}
	}
	return answered(answer, "roots")
}

// answered are the members of an answer that its question is answered with. A guest that does not look at the case of
// keys would take others for them.
func answered(answer json.RawMessage, members ...string) (json.RawMessage, error) {
	o, err := rawjson.ParseObject(answer)
	if err != nil {
		return nil, badAnswer("is not an object")
	}
	if path, twice := rawjson.AmbiguousKey(answer); twice {
		return nil, badAnswer("has %s twice", cut(path, maxMethod))
	}
	return slices.DeleteFunc(o, func(m rawjson.Member) bool { return !slices.Contains(members, m.Key) }).Append(nil), nil
}

func badAnswer(format string, args ...any) error {
	return askErrorf(runtime.KindUnavailable, "the client's answer "+format, args...)
}
