package grant

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// Entry identifies a tool, prompt, resource or resource template of a plugin.
type Entry struct {
	Kind string // "tool", "prompt", "resource" or "resource template"
	Name string // the plugin's name for it; for a template, the template itself
}

// Call provides the values of one request for the bindings of lines.
type Call struct {
	Entry Entry
	// Caller selects the lines that are for some callers. The zero value is nobody in particular.
	Caller identity.Identity
	// Values returns the values of an argument as text; none if it is absent or has a type that cannot be bound. A
	// last * in the path selects each element of a list.
	Values func(path []string) []string
	// Home is the operator's home directory. If a line begins with ~, a value may begin with it; empty if there is
	// none.
	Home string
	// URL parses a value as a URL and makes it canonical. Nil means url.Parse and urlnorm.URL.
	URL func(text string) (*url.URL, error)
}

// maxBound is the maximum number of lines that the values of one call produce from one line, such as for a list of
// files.
const maxBound = 1024

// Bind returns the set for one call: each binding is replaced by each of its values, and lines that do not apply to
// the call are removed. {roots} is not replaced; see WithRoots. A set that does not vary is returned as it is.
func (s *Set) Bind(c Call) *Set {
	if !s.all().Varies() {
		return s
	}
	b := &Set{ceiling: s.ceiling}
	for _, g := range s.all() {
		if !g.appliesTo(c) {
			continue
		}
		g.bound = true
		b.lines = append(b.lines, c.fill(g)...)
	}
	return b
}

// Varies reports whether the lines differ between calls.
func (l Lines) Varies() bool {
	return slices.ContainsFunc(l, func(g Grant) bool { return g.varies() })
}

// varies reports whether the line differs between calls.
func (g *Grant) varies() bool {
	return g.applies != nil || len(g.For) > 0 || len(g.Who) > 0 && !g.bound || len(g.bindings()) > 0
}

func (g *Grant) appliesTo(c Call) bool {
	if !g.bound && !g.Admits(c.Caller) {
		return false
	}
	if g.applies != nil {
		return g.applies[c.Entry]
	}
	return len(g.For) == 0 || slices.Contains(g.For, c.Entry.Name)
}

// fill returns a line for each combination of values; none if a binding has no value.
func (c *Call) fill(g Grant) []Grant {
	open := g.bindings()
	if len(open) == 0 {
		return []Grant{g}
	}
	if c.Values == nil {
		return nil
	}
	lines := []Grant{g}
	for _, b := range open {
		var next []Grant
		values := c.Values(b.path)
		for _, line := range lines {
			for _, v := range values {
				if filled, ok := c.replace(line, b, v); ok {
					next = append(next, filled)
				}
				if len(next) >= maxBound {
					break
				}
			}
		}
		lines = next[:min(len(next), maxBound)]
	}
	return lines
}

// replace replaces one binding by one value; false if the value is not allowed there.
func (c *Call) replace(g Grant, b *binding, v string) (Grant, bool) {
	filled, ok := g.rule.(binder).fill(b, v, c)
	g.rule = filled
	return g, ok
}

func (r *netRule) bindings() []*binding {
	all := append([]*binding{r.url}, append(r.host.bindings(), r.path.bindings()...)...)
	for _, p := range r.query {
		all = append(all, p.bind)
	}
	return all
}

func (r *fsRule) bindings() []*binding { return r.path.bindings() }

func (p pattern) bindings() (all []*binding) {
	for _, s := range p {
		all = append(all, s.bind)
	}
	return all
}

// fill replaces a binding wherever the pattern contains it.
func (p pattern) fill(b *binding, values pattern) pattern {
	if !slices.ContainsFunc(p, func(s segment) bool { return b.equal(s.bind) }) {
		return p
	}
	var out pattern
	for _, s := range p {
		if b.equal(s.bind) {
			out = append(out, values...)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (r *netRule) fill(b *binding, v string, c *Call) (rule, bool) {
	filled := *r
	ok := filled.put(b, v, c.URL)
	return &filled, ok
}

// put is fill of a copy.
func (r *netRule) put(b *binding, v string, read func(string) (*url.URL, error)) bool {
	switch b.form {
	case wholeURL:
		return r.fillURL(v, read)
	case hostName:
		labels, ok := hostValue(v)
		r.host = r.host.fill(b, allBound(labels))
		return ok
	}
	if !stepValue(v) {
		return false
	}
	if slices.ContainsFunc(r.host, func(s segment) bool { return b.equal(s.bind) }) {
		label, ok := labelValue(v)
		if !ok {
			return false
		}
		r.host = r.host.fill(b, pattern{bound(label)})
	}
	r.path = r.path.fill(b, pattern{bound(v)})
	r.query = slices.Clone(r.query)
	for i, p := range r.query {
		if b.equal(p.bind) {
			r.query[i] = param{key: p.key, value: glob{v}}
		}
	}
	return r.wellFormed()
}

// fillURL replaces the address of the line by the value: its origin and path, with any query.
func (r *netRule) fillURL(v string, read func(string) (*url.URL, error)) bool {
	if read == nil {
		read = func(s string) (*url.URL, error) {
			u, err := url.Parse(s)
			if err != nil {
				return nil, err
			}
			return urlnorm.URL(u)
		}
	}
	if strings.ContainsFunc(v, unprintable) {
		return false
	}
	u, err := read(v)
	if err != nil {
		return false
	}
	of := patternOf(u)
	r.url, r.scheme, r.port, r.origin = nil, of.scheme, of.port, true
	r.host, r.path = markBound(of.host), markBound(of.path)
	return true
}

func markBound(p pattern) pattern {
	out := slices.Clone(p)
	for i := range out {
		out[i].bound = true
	}
	return out
}

func (r *fsRule) fill(b *binding, v string, c *Call) (rule, bool) {
	filled := *r
	ok := filled.put(b, v, c.Home)
	return &filled, ok
}

// put is fill of a copy.
func (r *fsRule) put(b *binding, v, home string) bool {
	if b.form == oneStep {
		r.path = r.path.fill(b, pattern{bound(v)})
		r.folded = r.path.fold()
		return stepValue(v)
	}
	before := r.before(b, home)
	parts, ok := pathValue(v, before)
	if !ok && r.folder > 0 && len(before) >= r.folder { // as the plugin sees it
		parts, ok = pathValue(v, append([]string{Workspace}, before[r.folder:]...))
	}
	r.path = r.path.fill(b, allBound(parts))
	r.folded = r.path.fold()
	return ok
}

// before returns the segments in front of a binding, if all are known.
func (r *fsRule) before(b *binding, home string) []string {
	var prefix []string
	if r.home {
		prefix = steps(home)
	}
	if r.base != "" || r.home && home == "" {
		return []string{""} // prefix of no path
	}
	for _, s := range r.path {
		switch {
		case b.equal(s.bind):
			return prefix
		case s.any || s.bind != nil || !s.glob.literal():
			return []string{""}
		}
		prefix = append(prefix, s.glob[0])
	}
	return prefix
}
