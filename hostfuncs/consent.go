package hostfuncs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Want is a need that a plugin declared. It grants nothing: a denied effect is put before the operator only if a want
// covers it.
type Want struct {
	Grants *grant.Set // one line, fitted to the plugin's tools
	Why    string     // in the plugin's words
}

// line returns the want's line; empty unless there is exactly one.
func (w *Want) line() string {
	if lines := w.Grants.Lines(); len(lines) == 1 {
		return lines[0].String()
	}
	return ""
}

// Operator decides about effects that no line allows. *consent.Desk implements it. It is safe for concurrent use.
type Operator interface {
	// Grants returns the grants of the plugin with this digest for one principal.
	Grants(ctx context.Context, plugin, digest, principal string) []store.Grant
	// Take uses up a one-time grant, and returns true for exactly one call.
	Take(ctx context.Context, id string) bool
	// Give returns a taken grant that was not used, unless it was revoked meanwhile.
	Give(ctx context.Context, g store.Grant)
	// Ask submits a question, and returns it as stored.
	Ask(ctx context.Context, q store.Question) (store.Question, consent.Verdict)
	// Command returns a command line: Command("allow", id).
	Command(words ...string) string
	// Waits reports whether calls wait for the answer.
	Waits() bool
	// Wait waits for the answer, and returns Asked when ctx is done first.
	Wait(ctx context.Context, id string) consent.Verdict
}

const (
	// maxWhy limits the plugin's reason in a question, in bytes: a sentence or two.
	maxWhy = 512
	// maxShown limits the effect in a question, in bytes: enough for a long URL, not for a file in its query.
	maxShown = 2 << 10
	// maxAsked limits the questions of one call.
	maxAsked = 20
)

// consents are the operator's answers about the effects of one call. Only the guest's goroutine uses it.
type consents struct {
	rules   *rules
	caller  confirmations
	opening bool // an open of a file is under way, and waits for the answer to its question
	grown   bool // an answer to a question during an open was yes

	asked int
	line  string            // line of the last answer found
	taken *store.Grant      // one-time grant taken by the current effect; nil for none
	wants map[string]bool   // wants asked about in this call, by line
	stood []string          // IDs of the answers added to the grants
	once  map[string]string // one-time fs grants: line to ID; empty ID if another call took it
}

// consent returns the operator's answers for this call.
func (g *Gate) consent() *consents {
	if g.consents == nil {
		g.consents = &consents{rules: &g.rules, caller: confirmations{rules: &g.rules}}
	}
	return g.consents
}

// placed returns the wants of a plugin with all values bound that are known before a call.
func placed(p Plugin) []Want {
	var wants []Want
	for _, w := range p.Wants {
		if w = (Want{w.Grants.At(p.Name, p.Workspace), printable(cut(w.Why, maxWhy))}); w.line() != "" {
			wants = append(wants, w)
		}
	}
	return wants
}

// consults reports whether the operator may be asked about a plugin: it has wants, or lines that ask.
func (p *Policy) consults() bool {
	return p.host.options.Operator != nil && p.plugin.Digest != "" && (len(p.wants) > 0 || p.confirms)
}

// consultsAboutFiles reports whether answers of the operator can add to the files that lines grant.
func (p *Policy) consultsAboutFiles() bool {
	return p.consults() && (slices.ContainsFunc(p.plugin.Grants.Lines(), func(l grant.Grant) bool { return l.Ask && isFile(l) }) ||
		slices.ContainsFunc(p.wants, func(w Want) bool { return slices.ContainsFunc(w.Grants.Lines(), isFile) }))
}

func isFile(l grant.Grant) bool { return l.Family == grant.FS }

// consultNow is consult without the journal.
func (c *consents) consultNow(ctx context.Context, e effect, d grant.Decision, r *refusal) (grant.Decision, *refusal) {
	open := d.Ask || d.Grant == nil && !d.Beyond && !d.SpellOut
	if r.final || !open {
		return d, r
	}
	if a, ok := c.answered(ctx, e, true); ok {
		return a, nil
	}
	if a, no, known := c.caller.confirmed(ctx, e, d); known {
		return a, no
	}
	if !c.rules.policy.consults() {
		return d, r
	}
	q, why, ok := c.question(e, d)
	if !ok {
		return d, r.because(why)
	}
	kept, verdict := c.rules.policy.host.options.Operator.Ask(ctx, q)
	if verdict == consent.Asked && c.mayWait(e) {
		if verdict = c.wait(ctx, e, kept); verdict == consent.Allowed {
			if c.rules.kind(e).standing {
				return c.stoodFor(ctx, e, r)
			}
			a, ok := c.answered(ctx, e, true)
			if ok {
				return a, nil
			}
			return d, r // for another body, or taken by another call
		}
	}
	return d, c.standing(e, r, kept, verdict)
}

// standing returns the denial for the state of the effect's question, with the command to type.
func (c *consents) standing(e effect, r *refusal, q store.Question, v consent.Verdict) *refusal {
	orLine, named := ", or the line "+c.rules.forCaller(q.Line), c.rules.policy.divided
	if e.veiled() {
		orLine, named = "", false
	}
	switch v {
	case consent.Refused:
		return &refusal{reason: "the operator said no", hint: c.rules.session.command("revoke", q.ID) + ", which takes that back"}
	case consent.Asked:
		asked := "; the operator has been asked"
		if q.Want != "" && q.Want != q.Line {
			asked += ", and may allow with --want --always all of " + printable(q.Want)
		}
		return &refusal{reason: r.reason + asked, hint: c.rules.session.command("allow", q.ID) + orLine, named: named}
	case consent.Crowded:
		r = r.because(fmt.Sprintf("%d questions of this plugin wait or were refused", store.MaxOfOne))
	case consent.Full:
		r = r.because(fmt.Sprintf("%d questions of all plugins wait or were refused", store.MaxQuestions))
	default:
		return r
	}
	r.hint, r.named = c.rules.session.command("pending")+" and "+c.rules.session.command("grants")+" list them"+orLine, named
	return r
}

// because returns the denial with the reason why the operator is not asked; an empty reason adds nothing.
func (r *refusal) because(why string) *refusal {
	if why == "" {
		return r
	}
	return &refusal{reason: r.reason + "; the operator is not asked, since " + why, line: r.line, hint: r.hint}
}

// answered applies the operator's answers to an effect, except one on a file: answers about files are added to the
// grants of a call. With take, a one-time answer is used up.
func (c *consents) answered(ctx context.Context, e effect, take bool) (grant.Decision, bool) {
	if c.rules.kind(e).standing || !c.rules.policy.consults() {
		return grant.Decision{}, false
	}
	for _, a := range c.found(ctx) {
		d := e.decide(c.rules.grants.With(c.rules.lines(a.Line)...))
		if !d.Allowed || a.Once && (a.Binding != fingerprint(e) || take && !c.rules.policy.host.options.Operator.Take(ctx, a.ID)) {
			continue
		}
		if e.web.inside != nil {
			d.Named = d.Named && e.web.inside()
		}
		c.line = a.Line
		if a.Once && take {
			c.taken = &a
		}
		return d, true
	}
	return grant.Decision{}, false
}

// found returns the operator's answers for the plugin and the caller.
func (c *consents) found(ctx context.Context) []store.Grant {
	p := c.rules.policy
	return p.host.options.Operator.Grants(ctx, p.plugin.Name, p.plugin.Digest, c.rules.session.call.Principal)
}

// stoodFor decides about a file again after its question was answered while the call waited.
func (c *consents) stoodFor(ctx context.Context, e effect, r *refusal) (grant.Decision, *refusal) {
	c.stand()
	d := e.decide(c.rules.grants)
	if !d.Allowed {
		return d, r // revoked, or taken by another call
	}
	c.grown = true
	return d, c.spend(ctx, d)
}

// stand adds the operator's answers about files to the grants of a call: before the first access, and after waiting
// for an answer.
func (c *consents) stand() {
	if !c.rules.policy.consults() {
		return
	}
	raw := c.rules.replay.recall("stands", func() []byte {
		var fresh []store.Grant
		for _, a := range c.found(c.rules.policy.host.stop) {
			standing := func(line grant.Grant) bool {
				return c.rules.kindOf(line.Family).standing && c.rules.policy.consultsAboutFiles()
			}
			if !slices.Contains(c.stood, a.ID) && slices.ContainsFunc(c.rules.lines(a.Line), standing) {
				fresh = append(fresh, a)
			}
		}
		if fresh == nil {
			return nil
		}
		text, err := json.Marshal(fresh)
		if err != nil {
			return nil // cannot fail: strings and times
		}
		return text
	})
	var fresh []store.Grant
	if raw == nil || json.Unmarshal(raw, &fresh) != nil {
		return
	}
	for _, a := range fresh {
		c.standFor(a)
	}
}

// standFor adds one answer about files.
func (c *consents) standFor(a store.Grant) {
	c.stood = append(c.stood, a.ID)
	for _, line := range c.rules.lines(a.Line) {
		if !c.rules.kindOf(line.Family).standing {
			continue
		}
		if c.rules.grants = c.rules.grants.With(line); a.Once {
			c.note(line.String(), a.ID)
		}
	}
}

func (c *consents) note(line, id string) {
	if c.once == nil {
		c.once = map[string]string{}
	}
	c.once[line] = id
}

// spend uses up the one-time answer that allows an effect on a file, at its first use in the call.
func (c *consents) spend(ctx context.Context, d grant.Decision) *refusal {
	if len(c.once) == 0 || d.Grant == nil {
		return nil
	}
	line := d.Grant.String()
	id, once := c.once[line]
	switch {
	case !once:
		return nil
	case id != "" && c.takes(ctx, id):
		delete(c.once, line)
		return nil
	}
	c.once[line] = ""
	return &refusal{reason: "the operator allowed it once, and another call was first", final: true}
}

// takes uses up a one-time answer about files, once for all runs of the call.
func (c *consents) takes(ctx context.Context, id string) bool {
	return c.rules.replay.recall("takes "+id, func() []byte {
		if !c.rules.policy.host.options.Operator.Take(ctx, id) {
			return nil
		}
		return []byte{1}
	}) != nil
}

// mayWait reports whether the call can wait for the answer and go on. Nested calls do not wait.
func (c *consents) mayWait(e effect) bool {
	return c.rules.policy.host.options.Operator.Waits() && c.seesAnswers(e) && c.rules.session.call.Chain.Depth() == 0
}

// seesAnswers reports whether a new answer takes effect in the running call. For files, it does only during an open:
// a path reported as absent stays absent for the call.
func (c *consents) seesAnswers(e effect) bool {
	return !c.rules.kind(e).standing || c.opening
}

// wait pauses the deadline of the call until there is an answer.
func (c *consents) wait(ctx context.Context, e effect, q store.Question) consent.Verdict {
	text := q.Effect
	if e.veiled() {
		text = e.told
	}
	c.rules.session.notice(ctx, fmt.Sprintf("plugin %q waits for the operator's consent to %s: %s", q.Plugin, text, c.rules.session.command("allow", q.ID)))
	wait, resume := runtime.Pause(ctx)
	defer resume()
	return c.rules.policy.host.options.Operator.Wait(wait, q.ID)
}

// giveBack returns a taken one-time answer if its request was never sent; nil is ignored.
func (c *consents) giveBack(ctx context.Context, taken *store.Grant) {
	if taken != nil {
		c.rules.policy.host.options.Operator.Give(context.WithoutCancel(ctx), *taken)
	}
}
