package grant

import (
	"slices"
)

// Coverage is the extent to which a set allows the effects of a line.
type Coverage struct {
	All, Some bool   // it allows all of them, or some
	Deny      *Grant // a line of the set that denies some; nil if there is none
	Beyond    bool   // a ceiling does not cover some
}

// Coverage compares the set with a line, such as the want of a plugin, for a report to the operator: wildcards and
// bindings are compared by examples, and lines for some callers count as lines for all, so that it may miss an exception,
// such as the denial of a single path. It never decides on an effect.
func (s *Set) Coverage(g Grant, p Places) Coverage {
	c, s := Coverage{All: true}, s.ForAll()
	samples := g.samples(p)
	for _, e := range samples {
		d := e.decide(s)
		allowed := d.Allowed || d.Ask
		c.All, c.Some, c.Beyond = c.All && allowed, c.Some || allowed, c.Beyond || d.Beyond
		if d.Grant != nil && d.Grant.Deny {
			c.Deny = d.Grant
		}
	}
	if len(samples) == 0 {
		c.All = slices.ContainsFunc(s.all(), func(own Grant) bool { return own.String() == g.String() })
		c.Some = c.All
	}
	c.Some = c.Some || slices.ContainsFunc(s.all(), func(own Grant) bool { return s.allowsWithin(own, g, p) })
	return c
}

// allowsWithin reports whether one line of the set allows an effect of g.
func (s *Set) allowsWithin(own, g Grant, p Places) bool {
	if own.Deny || own.Family != g.Family {
		return false
	}
	if len(own.For) == 0 {
		own.For = g.For
	}
	wide := NewSet(g)
	return slices.ContainsFunc(own.samples(p), func(e sample) bool {
		d := e.decide(s)
		return (d.Allowed || d.Ask) && e.decide(wide).Allowed
	})
}

// Parts returns the values of a config line, the tools of a tools line and the patterns of a resources line as lines of
// their own; any other line as it is.
func (g Grant) Parts() []Grant {
	var rules []rule
	switch r := g.rule.(type) {
	case *toolList:
		for _, t := range r.rules {
			rules = append(rules, &toolList{[]toolRule{t}})
		}
	case *resourceList:
		for _, one := range r.rules {
			rules = append(rules, &resourceList{[]resourceRule{one}})
		}
	case *configRule:
		for _, key := range sortedKeys(r.values) {
			rules = append(rules, &configRule{values: map[string]string{key: r.values[key]}})
		}
		for _, key := range sortedKeys(r.secrets) {
			rules = append(rules, &configRule{secrets: map[string]string{key: r.secrets[key]}})
		}
	default:
		return []Grant{g}
	}
	parts := make([]Grant, len(rules))
	for i, r := range rules {
		parts[i] = g
		parts[i].rule = r
	}
	return parts
}

// ToolNames returns the public names of the tools that lines allow to call.
func (l Lines) ToolNames() (names []string) {
	for _, g := range l {
		if r, ok := g.rule.(*toolList); ok && !g.Deny {
			for _, t := range r.rules {
				names = append(names, t.name)
			}
		}
	}
	return names
}
