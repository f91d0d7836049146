package hostfuncs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
)

// Explanation says what the gate would do about one effect, without doing it.
type Explanation struct {
	Effect  string // as refusals name it
	Allowed bool
	Line    string // the line that decides, as the operator wrote it; empty if none does
	Filled  string // the same with the values of the call; empty if it has none
	At      int    // where it stands in its file; 0 if it is in none
	Reason  string // why it is refused; empty if it is allowed
	Hint    string // the narrowest line that would allow it; empty if none would
}

// Explain says what would become of an effect in a call: "GET https://example.com/x", "read ~/work/a",
// "write ~/work/a". Where the name of a host leads, and what lies at a path, is not looked at; an address, and
// a name of this machine, is what it is when the plugin asks for it.
func (p *Policy) Explain(c Call, act string) (Explanation, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(act), " ")
	rest = strings.TrimSpace(rest)
	g := p.NewGate(c)
	defer g.Close()
	e := effect{family: "fs", act: act}
	switch {
	case verb == "read" || verb == "write":
		return g.explainFile(e, verb, rest)
	case strings.Contains(rest, "://") && grant.IsMethod(strings.ToUpper(verb)):
		u, err := web.ParseURL(rest, nil)
		if err != nil {
			return Explanation{}, fmt.Errorf("%s", asAskError(err).Message)
		}
		return g.explain(g.request(&web.Request{Method: strings.ToUpper(verb), URL: u})), nil
	}
	return Explanation{}, fmt.Errorf("%q is no effect: write such as 'GET https://example.com/x' or 'read ~/work/a'", act)
}

func (g *Gate) explainFile(e effect, verb, path string) (Explanation, error) {
	places := g.policy.host.places
	if rest, found := strings.CutPrefix(path, "~"); found && (rest == "" || rest[0] == '/') {
		path = filepath.Join(places.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return Explanation{}, fmt.Errorf("path %q begins neither with / nor with ~/: write the whole path", path)
	}
	op := grant.Read
	if verb == "write" {
		op = grant.Write
	}
	f := files{gate: g, guard: g.policy.host.protected.Load().Guard()}
	e.act = verb + " " + f.shown(filepath.Clean(path))
	e.forbid = func() string { return f.forbiddenTo(op == grant.Write, path) }
	e.decide = func(s *grant.Set) grant.Decision { return s.FS(op, filepath.Clean(path), places) }
	return g.explain(e), nil
}

func (g *Gate) explain(e effect) Explanation {
	x := Explanation{Effect: e.act}
	d, refused := g.check(context.Background(), e)
	if d.Grant != nil {
		x.Line, x.At = g.policy.wrote(d.Grant), d.Grant.Line
		if filled := d.Grant.String(); filled != x.Line {
			x.Filled = filled
		}
	}
	if refused == nil {
		x.Allowed = true
		return x
	}
	x.Reason, x.Hint = refused.reason, refused.hint
	return x
}

// wrote is a line as it was before the workspace and the values of a call were filled in.
func (p *Policy) wrote(line *grant.Grant) string {
	for _, g := range p.written {
		if line.Line > 0 && g.Line == line.Line && g.Family == line.Family && g.Deny == line.Deny {
			return g.String()
		}
	}
	return line.String()
}
