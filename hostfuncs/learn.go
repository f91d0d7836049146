package hostfuncs

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant/infer"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// learner records the lines that the effects of one call need, for a plugin in learning mode.
type learner struct {
	rules  *rules
	record *recorder
}

// learn records the narrowest line that covers an effect, bound to the call's arguments where they determine the
// target. It records nothing that grants cannot allow, a line denies, or max_grants excludes. For an effect that a
// plugin's line allows, it records nothing broader than that line.
func (l *learner) learn(e effect, allowed bool) {
	if !l.rules.policy.plugin.Learn || e.decide == nil || l.rules.forbidden(e) != "" {
		return
	}
	var by []allowing
	if allowed && e.learning.aside && !l.named(e) {
		return
	}
	if allowed {
		by = l.allowing(e)
	}
	private := allowed && e.decide(l.rules.grants).Private
	for _, line := range l.forCallers(l.proposed(e, by, private), by) {
		if l.covers(line, e, private) && l.stays(line, by) {
			l.needs(l.rules.redact(line), allowed)
			return
		}
	}
}

// named reports whether the arguments of the call name the target of an effect.
func (l *learner) named(e effect) bool {
	literal := l.rules.suggested(e, e.decide(l.rules.grants.Limits()))
	places := infer.Places{Home: l.rules.policy.host.places.Home, Workspace: l.rules.policy.plugin.Workspace}
	return literal != "" && len(infer.Lines(literal, places, jsonraw.Get(l.rules.call.Params, "arguments"))) > len(infer.Lines(literal, places, nil))
}

// proposed returns candidate lines for an effect, the narrowest first. The literal target without an argument comes
// last. Before it come the allowing lines as written, if they vary by call, are limited, or allow a private host.
func (l *learner) proposed(e effect, by []allowing, private bool) (lines []string) {
	arguments := jsonraw.Get(l.rules.call.Params, "arguments")
	var last []string
	if e.learning.propose != nil {
		lines = []string{e.learning.propose(infer.Names(arguments))}
	} else if literal := l.rules.suggested(e, e.decide(l.rules.grants.Limits())); literal != "" {
		lines = infer.Lines(literal, infer.Places{Home: l.rules.policy.host.places.Home, Workspace: l.rules.policy.plugin.Workspace}, arguments)
		lines, last = lines[:len(lines)-1], lines[len(lines)-1:]
	}
	for _, a := range by {
		if private || (grant.Lines{a.written}).Varies() || len(last) == 0 || !l.stays(last[0], []allowing{a}) {
			lines = append(lines, a.written.String())
		}
	}
	return append(lines, last...)
}

// forCallers limits proposed lines to the callers of an allowing line, unless a line for all callers allows the effect
// too. The line of a denied effect is for its caller, as that of the denial.
func (l *learner) forCallers(lines []string, by []allowing) []string {
	if !l.rules.policy.divided || slices.ContainsFunc(by, func(a allowing) bool { return len(a.written.Who) == 0 }) {
		return lines
	}
	var out []string
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			continue
		}
		if len(by) == 0 {
			out = append(out, l.rules.forCaller(line))
			continue
		}
		if g, err = g.ForCallers(by[0].written.Who...); err == nil {
			out = append(out, g.String())
		}
	}
	return out
}

// allowing is a line of the plugin that can allow an effect in this call: as written, and with the workspace bound.
type allowing struct{ written, placed grant.Grant }

// allowing returns all such lines; none for families of amounts.
func (l *learner) allowing(e effect) (all []allowing) {
	for i, line := range l.rules.policy.plugin.Grants.Lines() {
		if line.Deny || !l.rules.kind(e).bindable {
			continue
		}
		if d := e.decide(l.rules.bound(grant.NewSet(line))); d.Grant != nil {
			all = append(all, allowing{l.rules.policy.written[i], line})
		}
	}
	return all
}

// stays reports whether a line allows no more than one of the lines in by; an empty by is no limit.
func (l *learner) stays(line string, by []allowing) bool {
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	placed := l.rules.policy.at(parsed)[0]
	return len(by) == 0 || slices.ContainsFunc(by, func(a allowing) bool { return a.placed.Spans(placed, l.rules.policy.host.places) })
}

// covers reports whether a line would allow an effect in this call: no other line denies it, it is within every
// ceiling, and a required address is named. With private, its host must be allowed in a private network.
func (l *learner) covers(line string, e effect, private bool) bool {
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	d := e.decide(l.rules.bound(l.rules.grants.Limits().With(l.rules.policy.at(parsed)...)))
	return d.Allowed && (d.Private || !private) && l.rules.beyond(e, d) == nil
}

// needs counts a line.
func (l *learner) needs(line string, allowed bool) {
	how := receipt.Used
	switch {
	case !allowed:
		how = receipt.Refused
	case l.rules.call.DryRun:
		how = receipt.Tried
	}
	l.record.learn(line, how)
}
