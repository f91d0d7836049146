package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// mayConfirm reports whether the caller may confirm an effect through its client: a request of an outermost call that
// matches an ask line and can be shown whole, for remote callers only if the line says so. Effects without a line are
// never confirmed this way, and the answer is not kept for later calls.
func (g *Gate) mayConfirm(e effect, d grant.Decision) bool {
	may := d.Ask && d.Grant != nil && g.kind(e).confirmable && g.call.Chain.Depth() == 0 &&
		(d.Grant.AskCaller || isLocal(g.call.Principal))
	if !may {
		return false
	}
	_, whole := g.shownTo(e)
	return whole
}

// confirmFetch asks for confirmation before the journal records the request: a client of the current protocol
// revision answers with a replay, which must reach the question again. It returns the fingerprint of the request that
// was asked about, else an empty string. The error ends the call.
func (g *Gate) confirmFetch(ctx context.Context, params json.RawMessage, sent *taken) (string, error) {
	if !g.policy.confirms {
		return "", nil
	}
	r, err := egress.Parse(params, sent)
	if err != nil || (g.call.ReadOnly || g.call.DryRun) && !egress.Safe(r.Method) {
		return "", nil // denied when it is performed
	}
	e := g.request(r)
	d := e.decide(g.grants)
	if !g.mayConfirm(e, d) {
		return "", nil
	}
	key := fingerprint(e)
	known := g.recall("before "+key, func() []byte {
		if _, ok := g.answered(ctx, e, false); !ok {
			return nil
		}
		return []byte{1}
	})
	if known != nil {
		return "", nil
	}
	return key, g.confirm(ctx, e)
}

// confirmed applies the caller's answer to one effect; a yes is valid once. known is false without an answer. Without
// a journal, the client is asked now.
func (g *Gate) confirmed(ctx context.Context, e effect, d grant.Decision) (yes grant.Decision, no *refusal, known bool) {
	if !g.mayConfirm(e, d) {
		return d, nil, false
	}
	if g.journal == nil && g.confirm(ctx, e) != nil {
		return d, nil, false
	}
	key := fingerprint(e)
	said, known := g.consents.said[key]
	switch {
	case !known:
		return d, nil, false
	case !said:
		return d, &refusal{reason: "the caller declined", final: true}, true
	}
	delete(g.consents.said, key)
	line := *d.Grant
	line.Ask, line.AskCaller = false, false
	yes = e.decide(g.grants.With(line))
	return yes, nil, yes.Allowed
}

// confirm asks the caller about one effect and stores the answer. A client that cannot be asked leaves no answer. The
// error ends the call.
func (g *Gate) confirm(ctx context.Context, e effect) error {
	params := g.confirmation(e)
	a := g.journaledRound(ctx, []runtime.Question{{Method: "elicitation/create", Params: params}}, g.ask)[0]
	var end *runtime.EndError
	var ask *runtime.AskError
	switch {
	case errors.As(a.Err, &end):
		return end
	case errors.As(a.Err, &ask) && ask.Kind != runtime.KindDenied:
		return nil
	}
	if g.consents.said == nil {
		g.consents.said = map[string]bool{}
	}
	action, _ := jsonraw.String(jsonraw.Get(a.Result, "action"))
	g.consents.said[fingerprint(e)] = a.Err == nil && action == "accept"
	return nil
}

// confirmation returns a form without fields: accepting it is the answer.
func (g *Gate) confirmation(e effect) json.RawMessage {
	act, _ := g.shownTo(e)
	text := fmt.Sprintf("Sallyport asks: may plugin %s %s", g.policy.plugin.Name, act)
	return jsonraw.Object{
		{Key: "mode", Value: json.RawMessage(`"form"`)},
		{Key: "message", Value: jsonraw.AppendString(nil, text+"? Yes is for this one request.")},
		{Key: "requestedSchema", Value: json.RawMessage(`{"type":"object","properties":{}}`)},
	}.Append(nil)
}
