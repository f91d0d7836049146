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
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// effect is one thing that a guest wants to happen.
type effect struct {
	family string
	// act says what it is in the words of a grant, for refusals: "GET https://a.example/x".
	act string
	// told is the same for the caller, who is not told where the operator's links lead; empty is act.
	told string
	// target is what the receipt counts it under.
	target string
	// decide asks the grants; nil if the effect is given to every plugin.
	decide func(*grant.Set) grant.Decision
	// announced asks wants instead, where it takes more for one to cover what is asked about; nil is decide.
	announced func(*grant.Set) grant.Decision
	// aside says that plugins do it by the way: what is allowed of it is learnt only where an argument names it.
	aside bool
	// propose is the line that is learnt, with the arguments that bound knows; nil takes what decide suggests.
	propose func(bound func(text string) (binding string, ok bool)) string
	// near adds to the reason of a refusal why a line that looks as if it allowed the effect does not; nil
	// adds nothing.
	near func(grant.Decision) string
	// forbid is a reason that no grant lifts, asked first; nil if there is none.
	forbid func() string
	// header are the fields that the guest wrote of a request, and body is what it sends, which a question is about
	// too; nil if the effect has none.
	header http.Header
	body   func() ([]byte, error)
	// inside reports, for net, whether the address itself says that it is of this machine or its network; a name
	// does not, wherever it leads, and so nobody who allows it means that. Nil: the effect has no address.
	inside func() bool
	// reach is a refusal that a decision leaves: for net, of an address that the line which allows it does not name.
	// Nil: there is none.
	reach func(d grant.Decision) *refusal
	// leaves says that do itself counts the effect, when it leaves this machine: one that never does is none.
	leaves bool
	// do makes it happen. It is nil if that follows at once elsewhere. A *refusal counts as a denial.
	do func(ctx context.Context, d grant.Decision) error
}

// refusal is an error of an effect that turned out not to be allowed.
type refusal struct {
	reason string        // follows the act and a colon
	line   string        // the narrowest line that would allow it; empty if none would
	hint   string        // what else to type; empty is the line
	final  bool          // nobody can allow it
	kind   runtime.Kind  // what the guest is told; empty is runtime.KindDenied
	later  time.Duration // when it may be otherwise; zero is not known
}

// Error returns the reason.
func (r *refusal) Error() string { return r.reason }

// told is what would allow it, as records keep it: what to type, or the line.
func (r *refusal) told() string { return cmp.Or(r.hint, r.line) }

// advice is the command that adds a line. With flags it names the files of this host.
func (g *Gate) advice(line string, flags bool) string {
	if h := g.policy.host; h.advise != nil && line != "" {
		return h.advise(g.policy.plugin.Name, line, flags)
	}
	return line
}

// pass is the one way from a guest to an effect: it is checked, then recorded, then done.
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

// alive refuses what comes when the call is over.
func (g *Gate) alive(ctx context.Context) error {
	if g.over.Load() || g.policy.host.stop.Err() != nil {
		return askErrorf(runtime.KindUnavailable, "the call is over")
	}
	return over(ctx)
}

// over says how the call of ctx ended, nil if it goes on.
func over(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return askErrorf(runtime.KindTimeout, "the time of the call is over")
	}
	return askErrorf(runtime.KindUnavailable, "the call is over")
}

// check asks the policy.
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
	if !d.Allowed && d.Grant == nil && g.askRoots(e.family) {
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

// suggested is the line that would allow an effect that is refused; empty if none would, or if it leads where nobody
// should go by a suggestion: to the metadata of a cloud, for one.
func (g *Gate) suggested(e effect, d grant.Decision) string {
	if no := g.beyond(e, grant.Decision{}); no != nil && d.Suggest != "" {
		return no.line
	}
	return d.Suggest
}

// beyond is what an effect that a line allows is refused for all the same, nil if it is not.
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

// deny records a refusal and makes the error of it.
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

// refused is what the caller is told of a refusal. Who may not know where the operator's links lead is told neither the
// place nor the line for it.
func (g *Gate) refused(e effect, r *refusal, reason string) *runtime.AskError {
	kind := cmp.Or(r.kind, runtime.KindDenied)
	if !e.veiled() {
		err := askErrorf(kind, "%s", reason)
		err.Hint, err.RetryAfterMs = cmp.Or(r.hint, g.advice(r.line, g.here())), r.later.Milliseconds()
		return err
	}
	why := r.reason + "; a link on the way leads elsewhere"
	if r.final {
		why = "a link on the way leads to what no grant reaches"
	}
	err := askErrorf(kind, "plugin %q may not %s: %s", g.policy.plugin.Name, g.redact(cut(printable(e.told), maxAct)), why)
	err.Hint, err.RetryAfterMs = r.hint, r.later.Milliseconds()
	return err
}

// veiled reports whether the caller is told another name than the records have.
func (e *effect) veiled() bool { return e.told != "" && e.told != e.act }

// here reports whether the caller is of this machine, and is told where the host has its files: without tokens a host
// answers on loopback and unix sockets only.
func (g *Gate) here() bool { return isLocal(g.call.Principal) || g.call.Principal == "anonymous" }

// flags are those with which a command finds this host's files; empty for callers who are not told where these are.
func (g *Gate) flags() string {
	if g.here() {
		return g.policy.host.flags
	}
	return ""
}

// command is the command line that acts on questions. Only callers of this machine are told where the host has its state.
func (g *Gate) command(words ...string) string {
	if g.here() {
		return g.policy.host.operator.Command(words...)
	}
	return strings.Join(append([]string{"sallyport"}, words...), " ")
}
