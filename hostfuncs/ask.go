package hostfuncs

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

var _ runtime.Rounds = (*Gate)(nil)

// question handles one method that asks the client.
type question struct {
	// prepare checks the params, rewrites them for the client, and returns the effect.
	prepare func(g *Gate, params json.RawMessage) (json.RawMessage, effect, error)
	// accept checks the client's answer to the prepared params.
	accept func(asked, answer json.RawMessage) (json.RawMessage, error)
}

// asked serves a single question outside a round.
func asked(name string) method {
	return func(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
		a := askClient(ctx, g, []runtime.Question{{Method: name, Params: params}})[0]
		return a.Result, a.Err
	}
}

// AskRound performs a round. All other requests run first, in order, then the questions to the client are sent
// together. The round stops at the first request that ends the call, and later requests are not performed.
func (g *Gate) AskRound(ctx context.Context, round []runtime.Question, s runtime.Streams) []runtime.Answer {
	if g.policy.plugin.alone {
		runtime.Abort(errRehearsal())
	}
	if g.life.ended != nil {
		return refuseAll(len(round), g.life.ended)
	}
	answers := make([]runtime.Answer, len(round))
	var together []runtime.Question
	var places []int
	for i, q := range round {
		if _, client := g.policy.host.effects.questions[q.Method]; client {
			together, places = append(together, q), append(places, i)
			continue
		}
		if answers[i].Result, answers[i].Err = g.Ask(ctx, q.Method, q.Params, s); g.life.ended != nil {
			return refuseAll(len(round), g.life.ended)
		}
	}
	if len(together) > 0 {
		for i, a := range askClient(ctx, g, together) {
			answers[places[i]] = a
			g.life.noteEnd(a.Err)
		}
	}
	return answers
}

// askClient checks each question against the grants, sends the allowed ones to the client, and checks the answers.
func askClient(ctx context.Context, g *Gate, round []runtime.Question) []runtime.Answer {
	answers := make([]runtime.Answer, len(round))
	var send []runtime.Question
	var places []int
	for i, q := range round {
		prepared, err := prepare(ctx, g, q)
		if err != nil {
			answers[i].Err = asAskError(err)
			continue
		}
		send, places = append(send, prepared), append(places, i)
	}
	for i, a := range g.replay.round(ctx, send, func(ctx context.Context, round []runtime.Question) ([]runtime.Answer, error) {
		return askSomebody(ctx, g, round)
	}) {
		if a.Err == nil {
			a.Result, a.Err = g.policy.host.effects.questions[send[i].Method].accept(send[i].Params, a.Result)
		}
		answers[places[i]] = a
	}
	return answers
}

// prepare checks one question against the policy.
func prepare(ctx context.Context, g *Gate, q runtime.Question) (runtime.Question, error) {
	params, e, err := g.policy.host.effects.questions[q.Method].prepare(g, q.Params)
	if err == nil {
		err = g.pass(ctx, e)
	}
	q.Params = g.Redact(params)
	return q, err
}

func refuseAll(n int, err error) []runtime.Answer {
	return slices.Repeat([]runtime.Answer{{Err: err}}, n)
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
func questionParams(g *Gate, params json.RawMessage, members ...string) (jsonraw.Object, error) {
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
	_, err := questionParams(g, params)
	return json.RawMessage("{}"), effect{family: "roots", act: "list the client's roots", decide: given(grant.Roots)}, err
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

func rootsFamily() family {
	return family{
		name: "roots", acts: []string{"list the client's roots"},
		explain:    plain("roots", given(grant.Roots), "list the client's roots"),
		questions:  map[string]question{"roots/list": {prepareRoots, acceptRoots}},
		asksClient: true,
	}
}
