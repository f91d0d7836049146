package hostfuncs

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant/infer"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// learn records the narrowest line that covers an effect, bound to the call's arguments where they determine the
// target. It records nothing that grants cannot allow, a line denies, or max_grants excludes. For an effect that a
// plugin's line allows, it records nothing broader than that line.
func (g *Gate) learn(e effect, allowed bool) {
	if !g.policy.plugin.Learn || e.decide == nil || e.forbid != nil && e.forbid() != "" {
		return
	}
	var by []allowing
	if allowed && e.aside && !g.named(e) {
		return
	}
	if allowed {
		by = g.allowing(e)
	}
	private := allowed && e.decide(g.grants).Private
	for _, line := range g.proposed(e, by, private) {
		if g.covers(line, e, private) && g.stays(line, by) {
			g.needs(g.redact(line), allowed)
			return
		}
	}
}

// named reports whether the arguments of the call name the target of an effect.
func (g *Gate) named(e effect) bool {
	literal := g.suggested(e, e.decide(g.grants.Limits()))
	places := infer.Places{Home: g.policy.host.places.Home, Workspace: g.policy.plugin.Workspace}
	return literal != "" && len(infer.Lines(literal, places, jsonraw.Get(g.call.Params, "arguments"))) > len(infer.Lines(literal, places, nil))
}

// proposed returns candidate lines for an effect, the narrowest first. The literal target without an argument comes
// last. Before it come the allowing lines as written, if they vary by call, are limited, or allow a private host.
func (g *Gate) proposed(e effect, by []allowing, private bool) (lines []string) {
	arguments := jsonraw.Get(g.call.Params, "arguments")
	var last []string
	if e.propose != nil {
		lines = []string{e.propose(infer.Names(arguments))}
	} else if literal := g.suggested(e, e.decide(g.grants.Limits())); literal != "" {
		lines = infer.Lines(literal, infer.Places{Home: g.policy.host.places.Home, Workspace: g.policy.plugin.Workspace}, arguments)
		lines, last = lines[:len(lines)-1], lines[len(lines)-1:]
	}
	for _, a := range by {
		if private || grant.NewSet(a.written).Varies() || len(last) == 0 || !g.stays(last[0], []allowing{a}) {
			lines = append(lines, a.written.String())
		}
	}
	return append(lines, last...)
}

// allowing is a line of the plugin that can allow an effect in this call: as written, and with the workspace bound.
type allowing struct{ written, placed grant.Grant }

// allowing returns all such lines; none for families of amounts.
func (g *Gate) allowing(e effect) (all []allowing) {
	for i, line := range g.policy.plugin.Grants.Grants() {
		if line.Deny || string(line.Family) != e.family || !g.kind(e).bindable {
			continue
		}
		if d := e.decide(g.policy.bound(grant.NewSet(line), g.call)); d.Grant != nil {
			all = append(all, allowing{g.policy.written[i], line})
		}
	}
	return all
}

// stays reports whether a line allows no more than one of the lines in by; an empty by is no limit.
func (g *Gate) stays(line string, by []allowing) bool {
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	placed := g.policy.at(parsed)[0]
	return len(by) == 0 || slices.ContainsFunc(by, func(a allowing) bool { return a.placed.Spans(placed, g.policy.host.places) })
}

// covers reports whether a line would allow an effect in this call: no other line denies it, it is within every
// ceiling, and a required address is named. With private, its host must be allowed in a private network.
func (g *Gate) covers(line string, e effect, private bool) bool {
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	d := e.decide(g.policy.bound(g.grants.Limits().With(g.policy.at(parsed)...), g.call))
	return d.Allowed && (d.Private || !private) && g.beyond(e, d) == nil
}

// needs counts a line.
func (g *Gate) needs(line string, allowed bool) {
	how := receipt.Used
	switch {
	case !allowed:
		how = receipt.Refused
	case g.call.DryRun:
		how = receipt.Tried
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.record.Learn(line, how)
}
