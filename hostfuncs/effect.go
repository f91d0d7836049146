package hostfuncs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// effect is one action that a guest requests, as one value: pass applies the policy, the limits, the journal and the
// records to it. It has a field for each of them, hence their number.
type effect struct {
	family string
	// act describes the action as a grant writes it, for denials: "GET https://a.example/x".
	act string
	// told replaces act for a caller that must not learn the targets of the operator's links; empty is act.
	told string
	// target is its key in the receipt.
	target string
	// changes marks an effect that changes something. A tool with readOnlyHint may not, and a dry run holds it back.
	changes bool
	// intent describes the change for the journal, which records it before the effect is performed; empty for none.
	intent string
	// decide evaluates the grants; nil if every plugin may perform the effect.
	decide func(*grant.Set) grant.Decision
	// announced evaluates wants, where covering the effect takes more than decide; nil is decide.
	announced func(*grant.Set) grant.Decision
	// learning restricts the lines that are learned from the effect.
	learning learning
	// near explains, for the reason of a denial, why a similar line does not allow the effect; nil adds nothing.
	near func(grant.Decision) string
	// forbid returns a reason that no grant overrides, empty if there is none. It is checked first; nil never
	// forbids.
	forbid func() string
	// web has the parts of an effect with a URL; the zero value is for other effects.
	web web
	// entry is its record in the journal; nil for an effect within another one, and for families without a record.
	entry *entry
	// sends returns the bytes that leave with the effect, which count for the limits of the call; nil is none.
	sends func(d grant.Decision) (int64, error)
	// leaves says that do counts the effect itself and records its intent, when it leaves this machine. An effect that
	// never leaves is not counted.
	leaves bool
	// do performs the effect; nil if the caller of pass performs it. A *refusal counts as a denial.
	do func(ctx context.Context, d grant.Decision) error
	// then performs further effects that belong to it, such as redirects; nil is none.
	then func(ctx context.Context) error
}

// learning restricts the lines that are learned from an effect.
type learning struct {
	// aside marks incidental effects, which are learned only if an argument names their target.
	aside bool
	// propose returns the line to learn, with the arguments that bound resolves; nil takes the suggestion of the
	// decision.
	propose func(bound func(text string) (binding string, ok bool)) string
}

// web has the parts of an effect with a URL.
type web struct {
	// header holds the request fields set by the guest, and body returns the request body; questions show both. They
	// are nil for a URL that only the user opens.
	header http.Header
	body   func() ([]byte, error)
	// inside reports whether the URL is itself an address of this machine or its network. A host name never is,
	// wherever it resolves, so allowing a name does not allow such an address.
	inside func() bool
	// reach denies an allowed effect if the allowing line does not name its address.
	reach func(d grant.Decision) *refusal
}

// refusal is the denial of an effect.
type refusal struct {
	reason string        // follows the act and a colon
	line   string        // narrowest line that would allow it; empty if none would
	hint   string        // command to type instead of adding the line; empty is the line
	named  bool          // the hint names the caller, and is not for the plugin
	final  bool          // no grant or answer can allow it
	kind   runtime.Kind  // error kind for the guest; empty is runtime.KindDenied
	later  time.Duration // delay after which a retry may succeed; zero is unknown
}

// Error returns the reason.
func (r *refusal) Error() string { return r.reason }

// told returns the remedy for records: the command to type, or the line.
func (r *refusal) told() string { return cmp.Or(r.hint, r.line) }

// pass is the only path from a guest to an effect: it checks, records and performs the effect. In a later run of the
// call, the rule of its family decides whether it is performed again.
func (g *Gate) pass(ctx context.Context, e effect) error {
	if err := g.life.alive(ctx); err != nil {
		return err
	}
	switch {
	case g.call.Trial != nil:
		return g.try(ctx, &e)
	case g.replay.journal == nil:
		return g.tape.taken(&e, g.perform(ctx, &e))
	}
	switch rule := g.rules.kind(e).replay; {
	case rule == replaySilent && g.replay.journal.Replaying():
		return nil
	case rule == replayObserved:
		err := g.perform(ctx, &e)
		g.replay.observe(e.entry, err)
		return g.tape.taken(&e, err)
	case rule == replayRecorded && e.entry != nil:
		return g.performOnce(ctx, &e)
	}
	return g.tape.taken(&e, g.perform(ctx, &e))
}

// performOnce performs an effect in one run of the call. Later runs take its outcome from the journal.
func (g *Gate) performOnce(ctx context.Context, e *effect) error {
	asked, err := g.consent().confirmFirst(ctx, *e)
	if err != nil {
		return err
	}
	outcome, replayed, err := g.replay.next(e.entry, func() bool { return e.decide != nil && e.decide(g.rules.grants).Idempotent })
	switch {
	case err != nil:
		return err
	case replayed:
		g.tape.add(e, outcome, nil)
		delete(g.consent().caller.said, asked) // it was for this effect
		return e.entry.decode(outcome)
	}
	if e.intent != "" {
		if e.changes {
			e.entry.key = g.replay.journal.Key()
		}
		if err := g.replay.begin(ctx, e.intent, e.entry.method, e.entry.request...); err != nil {
			return err
		}
	}
	return g.replay.record(ctx, e, g.perform(ctx, e))
}

// perform decides about an effect, records and performs it.
func (g *Gate) perform(ctx context.Context, e *effect) error {
	l := learner{rules: &g.rules, record: &g.record}
	if kind := g.rules.kind(*e); g.call.DryRun && e.changes && !kind.atCommit && g.rules.forbidden(*e) == "" {
		l.learn(*e, true)
		verb, _ := cutVerb(e.act)
		g.record.hold(verb, e.act)
		return askErrorf(runtime.KindUnavailable, "dry run: %s %s", verb, cmp.Or(kind.held, "not performed"))
	}
	d, refused := g.consent().decide(ctx, *e)
	if refused != nil {
		l.learn(*e, false)
		return g.deny(*e, refused)
	}
	err := g.account(ctx, e, d)
	if err == nil && e.do != nil {
		err = e.do(ctx, d)
	}
	l.learn(*e, !errors.As(err, &refused))
	switch {
	case refused != nil:
		return g.deny(*e, refused)
	case err == nil && e.then != nil:
		return e.then(ctx)
	}
	return err
}

// account counts an allowed effect before it is performed, and records its intent. The error prevents it.
func (g *Gate) account(ctx context.Context, e *effect, d grant.Decision) error {
	if e.sends != nil {
		n, err := e.sends(d)
		if err == nil {
			err = g.traffic.send(n)
		}
		if err != nil {
			g.consent().giveBack(ctx, g.consent().taken)
			return err
		}
	}
	if e.leaves {
		return nil
	}
	if e.changes && e.intent != "" && !g.rules.kind(*e).atCommit {
		if err := g.intents.intend(e.intent); err != nil {
			return err
		}
	}
	g.record.count(e.family, e.target, 1, 0, 0)
	return nil
}

// deny records a denial and returns its error.
func (g *Gate) deny(e effect, r *refusal) error {
	r = g.rules.limited(r)
	act := g.rules.redact(cut(printable(e.act), maxAct))
	reason := fmt.Sprintf("plugin %q may not %s: %s", g.policy.plugin.Name, act, r.reason)
	err := denialError(&g.rules, e, r, reason, g.session.here())
	denial := receipt.Denial{Family: e.family, Effect: act, Reason: reason, Hint: r.told()}
	if e.veiled() {
		denial.Told = err.Message
	}
	if g.record.deny(denial) {
		g.policy.host.options.Logger.Info("denied", "plugin", g.policy.plugin.Name, "call", g.call.ID, g.call.Trace.Attr(),
			"effect", act, "reason", r.reason, "hint", cmp.Or(r.hint, g.policy.host.advice(g.policy.plugin.Name, r.line, true)))
	}
	g.session.denied(err)
	if r.named || g.policy.divided && r.hint == "" {
		anonymous := *err // the plugin does not learn its caller from the hint
		anonymous.Hint = ""
		return &anonymous
	}
	return err
}

// denialError returns the caller's error for a denial. A caller that must not learn the targets of the operator's links
// gets neither the path nor its line, and only a caller that is here learns host paths.
func denialError(rules *rules, e effect, r *refusal, reason string, here bool) *runtime.AskError {
	kind, p := cmp.Or(r.kind, runtime.KindDenied), rules.policy
	if !e.veiled() {
		err := askErrorf(kind, "%s", reason)
		err.Hint, err.RetryAfterMs = cmp.Or(r.hint, p.host.advice(p.plugin.Name, r.line, here)), r.later.Milliseconds()
		return err
	}
	why := r.reason + "; a link on the way leads elsewhere"
	if r.final {
		why = "a link on the way leads to a protected path"
	}
	err := askErrorf(kind, "plugin %q may not %s: %s", p.plugin.Name, rules.redact(cut(printable(e.told), maxAct)), why)
	err.Hint, err.RetryAfterMs = r.hint, r.later.Milliseconds()
	return err
}

// veiled reports whether the caller's text differs from the recorded one.
func (e *effect) veiled() bool { return e.told != "" && e.told != e.act }
