package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// confirmations are the caller's answers about the effects of one call. Only the guest's goroutine uses it.
type confirmations struct {
	rules *rules
	said  map[string]bool // by fingerprint of the effect
}

// mayConfirm reports whether the caller may confirm an effect through its client: a request of an outermost call that
// matches an ask line and can be shown whole, for remote callers only if the line says so. Effects without a line are
// never confirmed this way, and the answer is not kept for later calls.
func (c *confirmations) mayConfirm(e effect, d grant.Decision) bool {
	may := d.Ask && d.Grant != nil && c.rules.kind(e).confirmable && c.rules.session.call.Chain.Depth() == 0 &&
		(d.Grant.AskCaller || c.rules.session.local())
	if !may {
		return false
	}
	_, whole := c.rules.shown(e)
	return whole
}

// confirmed applies the caller's answer to one effect; a yes is valid once. known is false without an answer. Without
// a journal, the client is asked now.
func (c *confirmations) confirmed(ctx context.Context, e effect, d grant.Decision) (yes grant.Decision, no *refusal, known bool) {
	if !c.mayConfirm(e, d) {
		return d, nil, false
	}
	if c.rules.replay.journal == nil && c.confirm(ctx, e) != nil {
		return d, nil, false
	}
	key := fingerprint(e)
	said, known := c.said[key]
	switch {
	case !known:
		return d, nil, false
	case !said:
		return d, &refusal{reason: "the caller declined", final: true}, true
	}
	delete(c.said, key)
	line := *d.Grant
	line.Ask, line.AskCaller = false, false
	yes = e.decide(c.rules.grants.With(line))
	return yes, nil, yes.Allowed
}

// confirm asks the caller about one effect and stores the answer. A client that cannot be asked leaves no answer. The
// error ends the call.
func (c *confirmations) confirm(ctx context.Context, e effect) error {
	params := c.confirmation(e)
	a := c.rules.replay.round(ctx, []runtime.Question{{Method: "elicitation/create", Params: params}}, c.rules.session.ask)[0]
	var end *runtime.EndError
	var ask *runtime.AskError
	switch {
	case errors.As(a.Err, &end):
		return end
	case errors.As(a.Err, &ask) && ask.Kind != runtime.KindDenied:
		return nil
	}
	if c.said == nil {
		c.said = map[string]bool{}
	}
	action, _ := jsonraw.String(jsonraw.Get(a.Result, "action"))
	c.said[fingerprint(e)] = a.Err == nil && action == "accept"
	return nil
}

// confirmation returns a form without fields: accepting it is the answer.
func (c *confirmations) confirmation(e effect) json.RawMessage {
	act, _ := c.rules.shown(e)
	text := fmt.Sprintf("Sallyport asks: may plugin %s %s", c.rules.policy.plugin.Name, act)
	return jsonraw.Object{
		{Key: "mode", Value: json.RawMessage(`"form"`)},
		{Key: "message", Value: jsonraw.AppendString(nil, text+"? Yes is for this one request.")},
		{Key: "requestedSchema", Value: json.RawMessage(`{"type":"object","properties":{}}`)},
	}.Append(nil)
}

// confirmFirst asks the caller before the journal records an effect: a client of the current protocol revision answers
// with a replay, which must reach the question again. It returns the fingerprint of the effect that was asked about,
// else an empty string. The error ends the call.
func (c *consents) confirmFirst(ctx context.Context, e effect) (string, error) {
	if !c.rules.policy.confirms || e.decide == nil || c.rules.forbidden(e) != "" || e.changes && c.rules.call.DryRun {
		return "", nil
	}
	if !c.caller.mayConfirm(e, e.decide(c.rules.grants)) {
		return "", nil
	}
	key := fingerprint(e)
	known := c.rules.replay.recall("before "+key, func() []byte {
		if _, ok := c.answered(ctx, e, false); !ok {
			return nil
		}
		return []byte{1}
	})
	if known != nil {
		return "", nil
	}
	return key, c.caller.confirm(ctx, e)
}
