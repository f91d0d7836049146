package hostfuncs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Want is something that a plugin announced it needs. It grants nothing: an effect that it covers and no line
// allows is put before the operator, and one that was never announced is not.
type Want struct {
	Grants *grant.Set // one line, fitted to what the plugin offers
	Why    string     // in the plugin's words
}

// line is how the want is written; empty if it is not one line.
func (w *Want) line() string {
	if lines := w.Grants.Grants(); len(lines) == 1 {
		return lines[0].String()
	}
	return ""
}

// Operator is whoever decides about what no line allows. *operator.Desk is the implementation. It is safe for
// concurrent use.
type Operator interface {
	// Grants returns what was allowed to these bytes of a plugin for one principal.
	Grants(ctx context.Context, plugin, digest, principal string) []store.Grant
	// Take uses a grant for once up: true for the one call that may use it.
	Take(ctx context.Context, id string) bool
	// Give gives back what was taken and not used.
	Give(ctx context.Context, g store.Grant)
	// Ask puts a question, and returns it as it is kept.
	Ask(ctx context.Context, q store.Question) (store.Question, operator.Verdict)
	// Command is what a person types: Command("allow", id).
	Command(words ...string) string
	// Waits reports whether calls wait for the answer.
	Waits() bool
	// Wait waits for the answer, and returns Asked when ctx is done first.
	Wait(ctx context.Context, id string) operator.Verdict
}

const (
	// maxWhy bounds the plugin's reason in a question, in bytes: a sentence or two.
	maxWhy = 512
	// maxShown bounds an effect that somebody is asked about, in bytes: a long address is, a file in its query is not.
	maxShown = 2 << 10
	// maxAsked is how many questions one call puts: nobody reads more.
	maxAsked = 20
)

// consents is what one call has to do with the operator. The guest's goroutine uses it.
type consents struct {
	asked int
	line  string            // of the answer that was found last
	taken *store.Grant      // the answer for once that the effect under way has taken; nil for none
	wants map[string]bool   // those that were asked about in this call, by their lines
	said  map[string]bool   // by whoever makes the call, by the binding of the effect
	stood []string          // answers that stand among the grants, by their IDs
	once  map[string]string // answers for one call about files, by their lines; empty if another call was first
}

// placed are the wants of a plugin, with what is known before a call.
func placed(p Plugin) []Want {
	var wants []Want
	for _, w := range p.Wants {
		if w = (Want{w.Grants.At(p.Name, p.Workspace), printable(cut(w.Why, maxWhy))}); w.line() != "" {
			wants = append(wants, w)
		}
	}
	return wants
}

// consults reports whether the operator may be asked about a plugin: what it announced, or what a line asks.
func (p *Policy) consults() bool {
	return p.host.operator != nil && p.plugin.Digest != "" && (len(p.wants) > 0 || p.confirms)
}

// consultNow is consult as things are.
func (g *Gate) consultNow(ctx context.Context, e effect, d grant.Decision, r *refusal) (grant.Decision, *refusal) {
	open := d.Ask || d.Grant == nil && !d.Beyond && !d.SpellOut
	if r.final || !open {
		return d, r
	}
	if a, ok := g.answered(ctx, e, true); ok {
		return a, nil
	}
	if a, no, known := g.confirmed(ctx, e, d); known {
		return a, no
	}
	if !g.policy.consults() {
		return d, r
	}
	q, why, ok := g.question(e, d)
	if !ok {
		return d, r.because(why)
	}
	kept, verdict := g.policy.host.operator.Ask(ctx, q)
	if verdict == operator.Asked && g.mayWait(e) {
		if verdict = g.wait(ctx, e, kept); verdict == operator.Allowed {
			if e.family == string(grant.FS) {
				return g.stoodFor(ctx, e, r)
			}
			a, ok := g.answered(ctx, e, true)
			if ok {
				return a, nil
			}
			return d, r // it was for another body, or another call has used it
		}
	}
	return d, g.standing(e, r, kept, verdict)
}

// standing is the refusal of an effect about which a question stands as it does: it says what to type.
func (g *Gate) standing(e effect, r *refusal, q store.Question, v operator.Verdict) *refusal {
	orLine := ", or the line " + q.Line
	if e.veiled() {
		orLine = ""
	}
	switch v {
	case operator.Refused:
		return &refusal{reason: "the operator said no", hint: g.command("revoke", q.ID) + ", which takes that back"}
	case operator.Asked:
		asked := "; the operator has been asked"
		if q.Want != "" && q.Want != q.Line {
			asked += ", and may allow with --want --always all of " + printable(q.Want)
		}
		return &refusal{reason: r.reason + asked, hint: g.command("allow", q.ID) + orLine}
	case operator.Crowded:
		r = r.because(fmt.Sprintf("%d questions of this plugin wait or were refused", store.MaxOfOne))
	case operator.Full:
		r = r.because(fmt.Sprintf("%d questions of all plugins wait or were refused", store.MaxQuestions))
	default:
		return r
	}
	r.hint = g.command("pending") + " and " + g.command("grants") + " list them" + orLine
	return r
}

// because is the same refusal with the reason why nobody is asked; empty is none.
func (r *refusal) because(why string) *refusal {
	if why == "" {
		return r
	}
	return &refusal{reason: r.reason + "; nobody is asked, since " + why, line: r.line, hint: r.hint}
}

// answered looks through what the operator has allowed. An answer for once is used up by the effect that it is
// for, if it is to be taken. What is allowed of files holds for the calls that begin later, which see them.
func (g *Gate) answered(ctx context.Context, e effect, take bool) (grant.Decision, bool) {
	if e.family == string(grant.FS) || !g.policy.consults() {
		return grant.Decision{}, false
	}
	for _, a := range g.policy.answers(ctx, g.call.Principal) {
		d := e.decide(g.grants.With(g.policy.lines(a.Line, g.call)...))
		if !d.Allowed || a.Once && (a.Binding != binding(e) || take && !g.policy.host.operator.Take(ctx, a.ID)) {
			continue
		}
		if e.inside != nil {
			d.Named = d.Named && e.inside()
		}
		g.consents.line = a.Line
		if a.Once && take {
			g.consents.taken = &a
		}
		return d, true
	}
	return grant.Decision{}, false
}

func (p *Policy) answers(ctx context.Context, principal string) []store.Grant {
	return p.host.operator.Grants(ctx, p.plugin.Name, p.plugin.Digest, principal)
}

// lines are those of an answer, as they hold in a call: what the plugin announced, or one plain line.
func (p *Policy) lines(line string, c Call) []grant.Grant {
	for _, w := range p.wants {
		if w.line() == line {
			return p.bound(w.Grants, c).Grants()
		}
	}
	g, err := grant.ParseLine(line)
	if err != nil {
		return nil
	}
	return p.bound(grant.NewSet(p.at(g)...), c).Grants()
}

// stoodFor decides about a file again, when its question was answered while the call waited.
func (g *Gate) stoodFor(ctx context.Context, e effect, r *refusal) (grant.Decision, *refusal) {
	g.stand()
	d := e.decide(g.grants)
	if !d.Allowed {
		return d, r // it was taken back, or another call has used it
	}
	g.probes.grown = true
	return d, g.spend(ctx, d)
}

// stand adds what the operator has allowed of files to the grants of a call: before it sees any, and when it has waited
// for more.
func (g *Gate) stand() {
	if !g.policy.consults() {
		return
	}
	raw := g.recall("stands", func() []byte {
		var fresh []store.Grant
		for _, a := range g.policy.answers(g.policy.host.stop, g.call.Principal) {
			files := func(line grant.Grant) bool { return line.Family == grant.FS }
			if !slices.Contains(g.consents.stood, a.ID) && slices.ContainsFunc(g.policy.lines(a.Line, g.call), files) {
				fresh = append(fresh, a)
			}
		}
		if fresh == nil {
			return nil
		}
		text, err := json.Marshal(fresh)
		if err != nil {
			return nil // texts and times
		}
		return text
	})
	var fresh []store.Grant
	if raw == nil || json.Unmarshal(raw, &fresh) != nil {
		return
	}
	for _, a := range fresh {
		g.standFor(a)
	}
}

// standFor adds one answer about files.
func (g *Gate) standFor(a store.Grant) {
	g.consents.stood = append(g.consents.stood, a.ID)
	for _, line := range g.policy.lines(a.Line, g.call) {
		if line.Family != grant.FS {
			continue
		}
		if g.grants = g.grants.With(line); a.Once {
			g.consents.note(line.String(), a.ID)
		}
	}
}

func (c *consents) note(line, id string) {
	if c.once == nil {
		c.once = map[string]string{}
	}
	c.once[line] = id
}

// spend uses up the answer for once that allows an effect on a file, when the call first needs it.
func (g *Gate) spend(ctx context.Context, d grant.Decision) *refusal {
	if len(g.consents.once) == 0 || d.Grant == nil {
		return nil
	}
	line := d.Grant.String()
	id, once := g.consents.once[line]
	switch {
	case !once:
		return nil
	case id != "" && g.takes(ctx, id):
		delete(g.consents.once, line)
		return nil
	}
	g.consents.once[line] = ""
	return &refusal{reason: "the operator allowed it once, and another call was first", final: true}
}

// takes uses an answer about files up, once for all runs of the call.
func (g *Gate) takes(ctx context.Context, id string) bool {
	return g.recall("takes "+id, func() []byte {
		if !g.policy.host.operator.Take(ctx, id) {
			return nil
		}
		return []byte{1}
	}) != nil
}

// mayWait reports whether the call can go on when the answer is there. Whoever called it from another call does not
// wait.
func (g *Gate) mayWait(e effect) bool {
	return g.policy.host.operator.Waits() && g.seesAnswers(e) && g.call.Chain.Depth() == 0
}

// seesAnswers reports whether what is allowed now is there for the call. Files are where one is being opened; what a
// call found not to be there stays away from it.
func (g *Gate) seesAnswers(e effect) bool {
	return e.family != string(grant.FS) || g.probes != nil && g.probes.waiting
}

// wait stops the time of the call until there is an answer.
func (g *Gate) wait(ctx context.Context, e effect, q store.Question) operator.Verdict {
	text := q.Effect
	if e.veiled() {
		text = e.told
	}
	g.notice(ctx, fmt.Sprintf("plugin %q waits for the operator, who is asked whether it may %s: %s", q.Plugin, text, g.command("allow", q.ID)))
	wait, resume := runtime.Pause(ctx)
	defer resume()
	return g.policy.host.operator.Wait(wait, q.ID)
}
