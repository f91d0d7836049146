package hostfuncs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Explanation is the gate's decision about one effect, which is not performed.
type Explanation struct {
	Effect  string // as denials name it
	At      int    // line number of the deciding line in its file; 0 if it is in none
	Line    string // the deciding line as the operator wrote it; empty if there is none
	Filled  string // the same line with workspace and call values bound; empty if unchanged
	Leads   string // the effect that was decided, if links or /workspace lead to a different file; else empty
	Allowed bool
	Asks    bool   // allowed only with a confirmation each time
	Reason  string // reason of the denial, or the allowed part; empty if wholly allowed
	Hint    string // the narrowest line that would allow it; empty if none would
}

// Explain decides about an effect in a call: "GET https://example.com/x", "read ~/work/a", "store a value", or any
// other text of a denial, except redirects and arguments of other plugins' tools. Links are followed as for the
// plugin. Host names are not resolved: only addresses and names of this machine are classified as in a call.
func (p *Policy) Explain(c Call, act string) (Explanation, error) {
	act = strings.TrimSpace(act)
	verb, rest, _ := strings.Cut(act, " ")
	rest = strings.TrimSpace(rest)
	g := p.NewGate(c)
	defer g.Close()
	if e, ok := g.other(act); ok {
		return g.explain(e), nil
	}
	switch {
	case verb == "read" || verb == "write" || verb == "list":
		return g.explainFile(verb, rest)
	case strings.Contains(rest, "://") && grant.IsMethod(strings.ToUpper(verb)):
		u, err := egress.ParseURL(rest, nil)
		if err != nil {
			return Explanation{}, fmt.Errorf("%s", asAskError(err).Message)
		}
		return g.explain(g.request(&egress.Request{Method: strings.ToUpper(verb), URL: u})), nil
	}
	return Explanation{}, fmt.Errorf("%q is no effect: write such as 'GET https://example.com/x', 'read ~/work/a', 'write ~/work/a' or 'list ~/work', or one of %s", act, strings.Join(acts(), ", "))
}

// acts returns the effects that are neither requests nor files, as denials name them.
func acts() []string {
	return []string{"'read a stored value'", "'store a value'", "'remove a stored value'", "'list stored values'", "'read the secret NAME'", "'call TOOL'", "'ask the client's model'",
		"'ask the client's user'", "'send the client's user to URL'", "'list the client's roots'"}
}

// other returns such an effect; false if act is none. Tools are called without arguments.
func (g *Gate) other(act string) (effect, bool) {
	e := effect{act: act}
	switch act {
	case "read a stored value", "store a value", "remove a stored value", "list stored values":
		e.family, e.decide = "kv", (*grant.Set).KV
		return e, true
	case "ask the client's model":
		e.family, e.decide = "sampling", (*grant.Set).Sampling
		return e, true
	case "ask the client's user":
		e.family, e.decide = "elicitation", func(s *grant.Set) grant.Decision { return s.Elicit(nil) }
		return e, true
	case "list the client's roots":
		e.family, e.decide = "roots", (*grant.Set).Roots
		return e, true
	}
	if name, ok := strings.CutPrefix(act, "read the secret "); ok {
		e.family, e.decide = "secret", func(s *grant.Set) grant.Decision { return revealed(s, name) }
		return e, true
	}
	if name, ok := strings.CutPrefix(act, "call "); ok {
		e.family, e.decide = "tools", func(s *grant.Set) grant.Decision { return s.Tool(name, nil) }
		return e, true
	}
	if text, ok := strings.CutPrefix(act, "send the client's user to "); ok {
		if u, err := egress.ParseURL(text, nil); err == nil {
			return g.sendTo(u), true
		}
	}
	return e, false
}

func (g *Gate) explainFile(verb, path string) (Explanation, error) {
	places := g.policy.host.places
	if rest, found := strings.CutPrefix(path, "~"); found && (rest == "" || rest[0] == '/') {
		path = filepath.Join(places.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return Explanation{}, fmt.Errorf("path %q begins neither with / nor with ~/: write the whole path", path)
	}
	op := map[string]jail.Op{"read": jail.Read, "write": jail.Write, "list": jail.List}[verb]
	l := &looking{files: &files{gate: g, guard: g.policy.host.protected.Load().Guard()}}
	asked := verb + " " + l.shown(filepath.Clean(path))
	host, folder := l.lead(op, filepath.Clean(path))
	x := g.explain(l.effect(op, host))
	if !x.Allowed && x.Line == "" && op == jail.Read && folder && l.Visible(host, true) {
		x.Allowed, x.Hint, x.Reason = true, "", "only the names in it that lead to granted paths"
	}
	if x.Effect != asked {
		x.Effect, x.Leads = asked, x.Effect
	}
	return x, nil
}

// looking decides for a walk to one file, without records.
type looking struct {
	*files
	refused string // last denied path
}

// Allow reports whether the walk may pass.
func (l *looking) Allow(op jail.Op, path string) error {
	if _, refused := l.gate.check(context.Background(), l.effect(op, l.meant(path))); refused != nil {
		l.refused = path
		return refused
	}
	return nil
}

// lead resolves a guest path to a host path, through links and /workspace. It returns the denied path if the walk was
// denied.
func (l *looking) lead(op jail.Op, path string) (host string, folder bool) {
	mounts := l.gate.mounts()
	l.absent = l.gate.absent(mounts)
	t := jail.New(mounts, l)
	defer t.Close()
	at, e := t.Look(jail.GuestPath(path), true, op)
	switch {
	case e == wasi.ESUCCESS && at.Host == "": // above all granted folders
		return path, at.Dir
	case e == wasi.ESUCCESS:
		return l.meant(at.Host), at.Dir
	case l.refused != "":
		return l.meant(l.refused), false
	}
	return l.meant(path), false
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
	x.Reason, x.Hint = refused.reason, refused.told()
	x.Asks = d.Ask && d.Grant != nil && !d.Beyond && !d.SpellOut && refused.reason == reasonOf(d)
	return x
}

// wrote returns a line as written, before the workspace and call values were bound.
func (p *Policy) wrote(line *grant.Grant) string {
	for _, g := range p.written {
		if line.Line > 0 && g.Line == line.Line && g.Family == line.Family && g.Deny == line.Deny {
			return g.String()
		}
	}
	return line.String()
}
