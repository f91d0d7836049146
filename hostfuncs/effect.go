package hostfuncs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
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

// advice returns the command that adds a line. With flags, it names the files of this host.
func (g *Gate) advice(line string, flags bool) string {
	if h := g.policy.host; h.advise != nil && line != "" {
		return h.advise(g.policy.plugin.Name, line, flags)
	}
	return line
}

// pass is the only path from a guest to an effect: it checks, records and performs the effect.
func (g *Gate) pass(ctx context.Context, e effect) error {
	if err := g.alive(ctx); err != nil {
		return err
	}
	g.consents.taken = nil
	d, refused := g.check(ctx, e)
	if refused == nil {
		refused = g.spend(ctx, d)
	} else {
		d, refused = g.consult(ctx, e, d, refused)
	}
	if refused != nil {
		g.learn(e, false)
		return g.deny(e, refused)
	}
	if !e.leaves {
		g.count(e.family, e.target, 1, 0, 0)
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

// alive returns an error once the call is over.
func (g *Gate) alive(ctx context.Context) error {
	if g.over.Load() || g.policy.host.stop.Err() != nil {
		return askErrorf(runtime.KindUnavailable, "the call is over")
	}
	return over(ctx)
}

// over returns the error for the end of ctx, nil while it is active.
func over(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return askErrorf(runtime.KindTimeout, "the call's deadline is exceeded")
	}
	return askErrorf(runtime.KindUnavailable, "the call is over")
}

// check evaluates the policy.
func (g *Gate) check(ctx context.Context, e effect) (grant.Decision, *refusal) {
	if e.forbid != nil {
		if reason := e.forbid(); reason != "" {
			return grant.Decision{}, &refusal{reason: reason, final: true}
		}
	}
	if e.decide == nil {
		return grant.Decision{Allowed: true}, nil
	}
	if g.policy.plugin.starting {
		return grant.Decision{}, &refusal{reason: "nothing is granted while a plugin starts, only in its calls", final: true}
	}
	d := e.decide(g.grants)
	if !d.Allowed && d.Grant == nil && g.askRoots(g.kind(e)) {
		d = e.decide(g.grants)
	}
	if d.Allowed {
		return d, g.beyond(e, d)
	}
	open := g.unfilled(e, d)
	if open == "" && e.near != nil {
		open = e.near(d)
	}
	reason := reasonOf(d) + open
	return d, &refusal{reason: reason, line: g.suggested(e, d)}
}

// suggested returns the line that would allow a denied effect. It is empty if none would, and for targets that are
// never suggested, such as cloud metadata addresses.
func (g *Gate) suggested(e effect, d grant.Decision) string {
	if no := g.beyond(e, grant.Decision{}); no != nil && d.Suggest != "" {
		return no.line
	}
	return d.Suggest
}

// beyond returns the denial of an effect that a line allows, nil if there is none.
func (g *Gate) beyond(e effect, d grant.Decision) *refusal {
	if e.reach == nil {
		return nil
	}
	return e.reach(d)
}

func reasonOf(d grant.Decision) string {
	switch {
	case d.Beyond && d.SpellOut:
		return "no line of max_grants spells it out"
	case d.Beyond:
		return "max_grants does not reach it"
	case d.SpellOut:
		return "no grant spells it out"
	case d.Grant == nil:
		return "no grant allows it"
	case d.Ask:
		return lineOf(d.Grant) + " asks for a confirmation"
	}
	if d.Misread != "" {
		return lineOf(d.Grant) + " denies it, " + d.Misread
	}
	return lineOf(d.Grant) + " denies it"
}

func lineOf(g *grant.Grant) string {
	if g.Line == 0 {
		return "a grant"
	}
	return fmt.Sprintf("line %d", g.Line)
}

// deny records a denial and returns its error.
func (g *Gate) deny(e effect, r *refusal) error {
	act := g.redact(cut(printable(e.act), maxAct))
	reason := fmt.Sprintf("plugin %q may not %s: %s", g.policy.plugin.Name, act, r.reason)
	err := g.refused(e, r, reason)
	denial := receipt.Denial{Family: e.family, Effect: act, Reason: reason, Hint: r.told()}
	if e.veiled() {
		denial.Told = err.Message
	}
	g.mu.Lock()
	first := g.record.Deny(denial)
	g.mu.Unlock()
	if first {
		g.policy.host.logger.Info("denied", "plugin", g.policy.plugin.Name, "call", g.call.ID,
			"effect", act, "reason", r.reason, "hint", cmp.Or(r.hint, g.advice(r.line, true)))
	}
	if l, ok := g.call.Client.(DenialListener); ok {
		l.Denied(err)
	}
	return err
}

// refused returns the caller's error for a denial. A caller that must not learn the targets of the operator's links
// gets neither the path nor its line.
func (g *Gate) refused(e effect, r *refusal, reason string) *runtime.AskError {
	kind := cmp.Or(r.kind, runtime.KindDenied)
	if !e.veiled() {
		err := askErrorf(kind, "%s", reason)
		err.Hint, err.RetryAfterMs = cmp.Or(r.hint, g.advice(r.line, g.here())), r.later.Milliseconds()
		return err
	}
	why := r.reason + "; a link on the way leads elsewhere"
	if r.final {
		why = "a link on the way leads to a protected path"
	}
	err := askErrorf(kind, "plugin %q may not %s: %s", g.policy.plugin.Name, g.redact(cut(printable(e.told), maxAct)), why)
	err.Hint, err.RetryAfterMs = r.hint, r.later.Milliseconds()
	return err
}

// veiled reports whether the caller's text differs from the recorded one.
func (e *effect) veiled() bool { return e.told != "" && e.told != e.act }

// here reports whether the caller is on this machine and may learn host paths. Anonymous callers count: without
// tokens a host serves loopback and unix sockets only.
func (g *Gate) here() bool { return isLocal(g.call.Principal) || g.call.Principal == "anonymous" }

// flags returns the command-line flags that locate this host's files; empty for callers that must not learn these
// paths.
func (g *Gate) flags() string {
	if g.here() {
		return g.policy.host.flags
	}
	return ""
}

// command returns the command line that acts on questions. Only callers of this machine learn the location of the
// host's state.
func (g *Gate) command(words ...string) string {
	if g.here() {
		return g.policy.host.operator.Command(words...)
	}
	return strings.Join(append([]string{"sallyport"}, words...), " ")
}
