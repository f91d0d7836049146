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

// effect is one action that a guest requests.
type effect struct {
	family string
	// act describes the action as a grant writes it, for denials: "GET https://a.example/x".
	act string
	// told replaces act for a caller that must not learn the targets of the operator's links; empty is act.
	told string
	// target is its key in the receipt.
	target string
	// decide evaluates the grants; nil if every plugin may perform the effect.
	decide func(*grant.Set) grant.Decision
	// announced evaluates wants, where covering the effect takes more than decide; nil is decide.
	announced func(*grant.Set) grant.Decision
	// aside marks incidental effects, which are learned only if an argument names their target.
	aside bool
	// propose returns the line to learn, with the arguments that bound resolves; nil takes the suggestion of decide.
	propose func(bound func(text string) (binding string, ok bool)) string
	// near explains, for the reason of a denial, why a similar line does not allow the effect; nil adds nothing.
	near func(grant.Decision) string
	// forbid returns a reason that no grant overrides, empty if there is none. It is checked first; nil never
	// forbids.
	forbid func() string
	// header holds the request fields set by the guest, and body returns the request body; questions show both. They
	// are nil for other effects.
	header http.Header
	body   func() ([]byte, error)
	// inside reports whether the effect's URL is itself an address of this machine or its network. A host name never is,
	// wherever it resolves, so allowing a name does not allow such an address. Nil for effects without a URL.
	inside func() bool
	// reach denies an allowed effect if the allowing line does not name its address. Nil never denies; it is for effects
	// with a URL.
	reach func(d grant.Decision) *refusal
	// leaves says that do counts the effect itself, when it leaves this machine. An effect that never leaves is not
	// counted.
	leaves bool
	// do performs the effect; nil if the caller of pass performs it. A *refusal counts as a denial.
	do func(ctx context.Context, d grant.Decision) error
}

// refusal is the denial of an effect.
type refusal struct {
	reason string        // follows the act and a colon
	line   string        // narrowest line that would allow it; empty if none would
	hint   string        // command to type instead of adding the line; empty is the line
	final  bool          // no grant or answer can allow it
	kind   runtime.Kind  // error kind for the guest; empty is runtime.KindDenied
	later  time.Duration // delay after which a retry may succeed; zero is unknown
}

// Error returns the reason.
func (r *refusal) Error() string { return r.reason }

// told returns the remedy for records: the command to type, or the line.
func (r *refusal) told() string { return cmp.Or(r.hint, r.line) }

// pass is the only path from a guest to an effect: it checks, records and performs the effect.
func (g *Gate) pass(ctx context.Context, e effect) error {
	if err := g.life.alive(ctx); err != nil {
		return err
	}
	g.consents.taken = nil
	d, refused := g.rules.check(e)
	if refused == nil {
		refused = g.consents.spend(ctx, d)
	} else {
		d, refused = g.consents.consult(ctx, e, d, refused)
	}
	if refused != nil {
		g.learn(e, false)
		return g.deny(e, refused)
	}
	if !e.leaves {
		g.record.count(e.family, e.target, 1, 0, 0)
	}
	if e.do == nil {
		g.learn(e, true)
		return nil
	}
	err := e.do(ctx, d)
	g.learn(e, !errors.As(err, &refused))
	if refused != nil {
		return g.deny(e, refused)
	}
	return err
}

// learn records the line that an effect needs, for a plugin in learning mode.
func (g *Gate) learn(e effect, allowed bool) {
	if g.policy.plugin.Learn {
		l := learner{rules: &g.rules, record: &g.record}
		l.learn(e, allowed)
	}
}

// deny records a denial and returns its error.
func (g *Gate) deny(e effect, r *refusal) error {
	act := g.policy.redact(cut(printable(e.act), maxAct))
	reason := fmt.Sprintf("plugin %q may not %s: %s", g.policy.plugin.Name, act, r.reason)
	err := denialError(g.policy, e, r, reason, g.session.here())
	denial := receipt.Denial{Family: e.family, Effect: act, Reason: reason, Hint: r.told()}
	if e.veiled() {
		denial.Told = err.Message
	}
	if g.record.deny(denial) {
		g.policy.host.logger.Info("denied", "plugin", g.policy.plugin.Name, "call", g.call.ID,
			"effect", act, "reason", r.reason, "hint", cmp.Or(r.hint, g.policy.advice(r.line, true)))
	}
	g.session.denied(err)
	return err
}

// denialError returns the caller's error for a denial. A caller that must not learn the targets of the operator's links
// gets neither the path nor its line, and only a caller that is here learns host paths.
func denialError(p *Policy, e effect, r *refusal, reason string, here bool) *runtime.AskError {
	kind := cmp.Or(r.kind, runtime.KindDenied)
	if !e.veiled() {
		err := askErrorf(kind, "%s", reason)
		err.Hint, err.RetryAfterMs = cmp.Or(r.hint, p.advice(r.line, here)), r.later.Milliseconds()
		return err
	}
	why := r.reason + "; a link on the way leads elsewhere"
	if r.final {
		why = "a link on the way leads to a protected path"
	}
	err := askErrorf(kind, "plugin %q may not %s: %s", p.plugin.Name, p.redact(cut(printable(e.told), maxAct)), why)
	err.Hint, err.RetryAfterMs = r.hint, r.later.Milliseconds()
	return err
}

// veiled reports whether the caller's text differs from the recorded one.
func (e *effect) veiled() bool { return e.told != "" && e.told != e.act }
