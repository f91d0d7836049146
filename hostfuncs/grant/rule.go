package grant

import "slices"

// rule is the value of a line: the effects of one family that it covers, and their limits. It is immutable once the
// line is parsed. A family implements those of the interfaces below that its lines need.
type rule interface {
	// value returns the text after the family, in the notation of a line.
	value() string
}

// binder is a rule in which values of a call may stand.
type binder interface {
	rule
	// bindings returns the bindings in order. One may occur several times.
	bindings() []*binding
	// fill returns the rule with a binding replaced by a value; false if the value is not allowed there.
	fill(b *binding, v string, c *Call) (rule, bool)
}

// placed is a rule that may name a plugin or its workspace.
type placed interface {
	binder
	// at returns the rule for one plugin, with an absolute folder as its workspace; an empty folder is none.
	at(plugin, folder string) rule
	// opened returns rules that cover the effects of the rule for any values of its bindings.
	opened() []rule
}

// limited is a rule with limits.
type limited interface {
	rule
	// limit adds the limits of a line that allows an effect to those of the lines before it. first means that there
	// are none before it.
	limit(l *Limits, first bool)
	// bounded reports whether effects that the rule covers may exceed a limit.
	bounded() bool
}

// checked is a rule whose options may contradict its value.
type checked interface {
	rule
	check(line int) error
}

var (
	_ placed  = (*netRule)(nil)
	_ placed  = (*fsRule)(nil)
	_ binder  = (*toolList)(nil)
	_ binder  = (*resourceList)(nil)
	_ limited = (*netRule)(nil)
	_ limited = (*fsRule)(nil)
	_ limited = budget{}
	_ limited = storeRule{}
	_ checked = (*netRule)(nil)
	_ checked = (*fsRule)(nil)
	_ checked = (*pageRule)(nil)
	_ checked = (*Secret)(nil)
	_ rule    = (*configRule)(nil)
	_ rule    = rootsRule{}
	_ rule    = callerRule{}
)

// net returns the rule of a net line, otherwise nil.
func (g *Grant) net() *netRule {
	r, _ := g.rule.(*netRule)
	return r
}

// fs returns the rule of an fs line, otherwise nil.
func (g *Grant) fs() *fsRule {
	r, _ := g.rule.(*fsRule)
	return r
}

// address returns the rule for addresses, of requests or of URLs that a user opens; nil if there is none.
func (g *Grant) address() *netRule {
	switch r := g.rule.(type) {
	case *netRule:
		return r
	case *pageRule:
		return r.url
	}
	return nil
}

// secret returns the secret of a secret line, otherwise nil.
func (g *Grant) secret() *Secret {
	r, _ := g.rule.(*Secret)
	return r
}

// bindings returns the distinct bindings of the line, in order.
func (g *Grant) bindings() []*binding {
	r, ok := g.rule.(binder)
	if !ok {
		return nil
	}
	var all []*binding
	for _, b := range r.bindings() {
		if b != nil && !slices.ContainsFunc(all, b.equal) {
			all = append(all, b)
		}
	}
	return all
}
