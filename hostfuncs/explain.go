package hostfuncs

import (
	"fmt"
	"path/filepath"
	"strings"

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
	g := p.NewGate(c)
	defer g.Close()
	act = strings.TrimSpace(act)
	if x, ok, err := g.rules.decided(act); ok || err != nil {
		return x, err
	}
	if family, effect, ok := strings.Cut(act, ": "); ok && (family == "fs" || family == "net") {
		if _, ok, err := g.rules.decided(effect); ok && err == nil {
			return Explanation{}, fmt.Errorf("%q is a line of a grant and not an effect: write '%s'", act, effect)
		}
	}
	var examples []string
	for _, f := range p.host.effects.rows {
		if f.explain == nil {
			continue
		}
		for _, a := range f.acts {
			examples = append(examples, "'"+a+"'")
		}
	}
	return Explanation{}, fmt.Errorf("%q is not an effect: write one such as %s", act, strings.Join(examples, ", "))
}

// decided returns the decision about an effect, and false if no family knows the text.
func (r *rules) decided(act string) (x Explanation, ok bool, err error) {
	for _, f := range r.policy.host.effects.rows {
		if f.explain == nil {
			continue
		}
		if x, ok, err = f.explain(r, act); ok || err != nil {
			return x, ok, err
		}
	}
	return x, false, nil
}

// looking decides for a walk to one file, without records.
type looking struct {
	*paths
	refused string // last denied path
}

// Allow reports whether the walk may pass.
func (l *looking) Allow(op jail.Op, path string) error {
	if _, refused := l.rules.check(l.effect(op, l.meant(path))); refused != nil {
		l.refused = path
		return refused
	}
	return nil
}

// lead resolves a guest path to a host path, through links and /workspace. It returns the denied path if the walk was
// denied.
func (l *looking) lead(op jail.Op, path string) (host string, folder bool) {
	mounts := l.rules.mounts()
	l.absent = l.rules.absent(mounts)
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

func (r *rules) explain(e effect) Explanation {
	x := Explanation{Effect: e.act}
	d, refused := r.check(e)
	if d.Grant != nil {
		x.Line, x.At = r.policy.wrote(d.Grant), d.Grant.Line
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

// explainFile explains an access to a file, after its links.
func explainFile(r *rules, act string) (Explanation, bool, error) {
	verb, path := cutVerb(act)
	op, ok := map[string]jail.Op{"read": jail.Read, "write": jail.Write, "list": jail.List}[verb]
	if !ok {
		return Explanation{}, false, nil
	}
	places := r.policy.host.places
	if rest, found := strings.CutPrefix(path, "~"); found && (rest == "" || rest[0] == '/') {
		path = filepath.Join(places.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return Explanation{}, false, fmt.Errorf("path %q begins neither with / nor with ~/: write the whole path", path)
	}
	l := &looking{paths: newPaths(r)}
	asked := verb + " " + l.shown(filepath.Clean(path))
	host, folder := l.lead(op, filepath.Clean(path))
	x := r.explain(l.effect(op, host))
	if !x.Allowed && x.Line == "" && op == jail.Read && folder && l.Visible(host, true) {
		x.Allowed, x.Hint, x.Reason = true, "", "only the names in it that lead to granted paths"
	}
	if x.Effect != asked {
		x.Effect, x.Leads = asked, x.Effect
	}
	return x, true, nil
}
