package hostfuncs

import (
	"net/url"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/learn"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// maxLearnt bounds the lines that one call is noted to need.
const maxLearnt = 64

// Learnt is a line that a call needed, as the audit log keeps it for plugins that are learnt about.
type Learnt struct {
	Line    string `json:"line"`
	Used    int    `json:"used,omitempty"`
	Refused int    `json:"refused,omitempty"`
}

// learn notes the narrowest line that covers an effect, with the arguments of the call where it follows them.
// What no grant can allow is not noted.
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
	if literal := e.decide(grant.NewSet()).Suggest; literal != "" {
		return learn.Lines(literal, g.policy.host.places.Home, arguments)
	}
	return nil
}

// covers reports whether a line would allow an effect in this call.
func (g *Gate) covers(line string, e effect) bool {
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	set := grant.NewSet(parsed).At(g.policy.plugin.Name, g.policy.plugin.Workspace).Bind(grant.Call{
		Entry: g.call.Entry, Values: g.call.Values, Home: g.policy.host.places.Home,
		URL: func(text string) (*url.URL, error) { return web.ParseURL(text, nil) },
	})
	return e.decide(set).Allowed
}

// needs counts a line.
func (g *Gate) needs(line string, allowed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var l *Learnt
	for i := range g.learnt {
		if g.learnt[i].Line == line {
			l = &g.learnt[i]
		}
	}
	if l == nil {
		if len(g.learnt) >= maxLearnt {
			return
		}
		g.learnt = append(g.learnt, Learnt{Line: line})
		l = &g.learnt[len(g.learnt)-1]
	}
	if allowed {
		l.Used++
	} else {
		l.Refused++
	}
}
