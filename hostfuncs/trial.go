package hostfuncs

import (
	"cmp"
	"context"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// try is pass for a trial. An effect of the recorded call has its outcome from there, also if it is denied now: nothing
// of it leaves. Any other is decided, and performed only if it stays inside.
func (g *Gate) try(ctx context.Context, e *effect) error {
	_, refused := g.rules.check(*e)
	var denied error
	if refused != nil {
		denied = refused
	}
	if e.entry != nil && e.decide != nil {
		if outcome := g.tape.recall(g.tape.exchange(e)); outcome != nil {
			g.tape.add(e, outcome, denied)
			return e.entry.decode(outcome)
		}
	}
	switch kind := g.rules.kind(*e); {
	case refused != nil:
		g.tape.add(e, nil, denied)
		return g.deny(*e, refused)
	case !kind.stays && e.do != nil:
		g.tape.add(e, nil, nil)
		verb, _ := cutVerb(e.act)
		return askErrorf(runtime.KindUnavailable, "dry run: %s %s", verb, cmp.Or(kind.held, "not performed"))
	}
	return g.tape.taken(e, g.perform(ctx, e))
}

// answers returns the recorded answers to a round of a trial.
func (t *tape) answers(round []runtime.Question) []runtime.Answer {
	if len(round) == 0 {
		return nil
	}
	x := t.questions(round)
	x.Outcome = t.recall(x)
	t.put(x)
	if x.Outcome == nil {
		return refuseAll(len(round), askErrorf(runtime.KindUnavailable, "dry run: the client is not asked"))
	}
	return decodeAnswers(x.Outcome, len(round))
}

// recall returns the recorded outcome of an effect, once: of one with the same arguments, else of one with the same
// act, else of a request with the same address without its query, so that a plugin that sends something else to a known
// address shows its next steps. It is nil if there is none.
func (t *tape) recall(x recording.Exchange) []byte {
	all := t.call.Trial.Exchanges
	for _, same := range []func(*recording.Exchange) bool{
		func(y *recording.Exchange) bool { return y.Act == x.Act && string(y.Request) == string(x.Request) },
		func(y *recording.Exchange) bool { return y.Act == x.Act },
		func(y *recording.Exchange) bool { return withoutQuery(y.Act) == withoutQuery(x.Act) },
	} {
		for i := range all {
			if y := &all[i]; !t.used[i] && y.Outcome != nil && y.Family == x.Family && same(y) {
				t.used[i] = true
				t.clock.Advance(y.At)
				return y.Outcome
			}
		}
	}
	return nil
}

func withoutQuery(act string) string {
	act, _, _ = strings.Cut(act, "?")
	return act
}
