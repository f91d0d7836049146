package hostfuncs

import (
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/learn"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// learn notes the narrowest line that covers an effect, with the arguments of the call where it follows them.
// What no grant can allow is not noted, nor what a line denies or max_grants does not reach.
func (g *Gate) learn(e effect, allowed bool) {
	if !g.policy.plugin.Learn || e.decide == nil || e.forbid != nil && e.forbid() != "" {
		return
	}
	for _, line := range g.proposed(e) {
		if g.covers(line, e) {
			g.needs(g.redact(line), allowed)
			return
		}
	}
}

// proposed are lines that may cover an effect, the narrowest first.
func (g *Gate) proposed(e effect) []string {
	arguments := rawjson.Get(g.call.Params, "arguments")
	if e.propose != nil {
		return []string{e.propose(learn.Names(arguments))}
	}
	if literal := g.suggested(e, e.decide(g.grants.Limits())); literal != "" {
		return learn.Lines(literal, learn.Places{Home: g.policy.host.places.Home, Workspace: g.policy.plugin.Workspace}, arguments)
	}
	return nil
}

// covers reports whether a line would let an effect happen in this call: no other line denies it, every ceiling
// reaches it, and an address that has to be named is.
func (g *Gate) covers(line string, e effect) bool {
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	lines := grant.NewSet(parsed).At(g.policy.plugin.Name, g.policy.plugin.Workspace).Grants()
	d := e.decide(g.policy.bound(g.grants.Limits().With(lines...), g.call))
	return d.Allowed && g.beyond(e, d) == nil
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
