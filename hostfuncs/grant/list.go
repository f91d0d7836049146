package grant

import (
	"slices"
)

// List decides on listing a folder. It is allowed if a path below the folder may be read; only names that lead to such
// paths are visible. A grant to read only the folder itself shows no names. The suggested line shows all of them.
func (s *Set) List(name string, p Places) Decision {
	d := s.FS(Read, name, p)
	if d.Grant != nil && !d.Allowed {
		return d
	}
	t := p.target(Read, name)
	if by := s.beneath(&t); by != nil {
		return Decision{Allowed: true, Grant: by}
	}
	if d.Allowed {
		d = Decision{}
	}
	if d.Suggest = ""; !d.Beyond {
		d.Suggest = p.suggestNames(name)
	}
	return d
}

// beneath returns the first line that allows a path below the target; nil if there is none, or if a ceiling has none.
func (s *Set) beneath(t *target) *Grant {
	for _, c := range s.ceilings() {
		if c.beneath(t) == nil {
			return nil
		}
	}
	lines := s.all()
	i := slices.IndexFunc(lines, func(g Grant) bool { return g.Family == FS && !g.Deny && t.over(&g) })
	if i < 0 {
		return nil
	}
	return &lines[i]
}

// over reports whether a line may allow a path below the target.
func (t *target) over(g *Grant) bool {
	if r := g.fs(); r.base == roots {
		return slices.ContainsFunc(r.within, func(r fsRule) bool { return t.over(&Grant{Family: FS, rule: &r}) })
	}
	pattern, subject, ok := t.subject(g)
	if ok {
		return pattern.beneath(subject)
	}
	return g.fs().home && g.fs().base == "" && t.aboveHome()
}

// suggestNames returns the line that shows the entries of a folder, empty if there is none.
func (p Places) suggestNames(name string) string {
	text := p.suggest(Read, name)
	g, err := ParseLine(text)
	if err != nil || len(steps(name)) == 0 {
		return ""
	}
	r := *g.fs()
	r.path = append(r.path, segment{glob: glob{"", ""}})
	return Quote(Grant{Family: FS, rule: &r}.String())
}
