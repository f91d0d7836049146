package grant

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs/notation"
)

// List decides about the names in a folder: whoever may read something below it may list it, and sees what leads
// there. Who may read the folder alone sees no name; the line that is suggested shows them all.
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

// beneath is the first line that allows something below the target; nil if there is none, or a ceiling does not.
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

// over reports whether a line may allow something below the target.
func (t *target) over(g *Grant) bool {
	if g.fs.base == roots {
		return slices.ContainsFunc(g.fs.within, func(r fsRule) bool { return t.over(&Grant{Family: FS, fs: r}) })
	}
	pattern, subject, ok := t.subject(g)
	if ok {
		return pattern.beneath(subject)
	}
	return g.fs.home && g.fs.base == "" && t.aboveHome()
}

// suggestNames writes the line that shows what is in a folder, empty if none would.
func (p Places) suggestNames(name string) string {
	text := p.suggest(Read, name)
	g, err := ParseLine(text)
	if err != nil || len(steps(name)) == 0 {
		return ""
	}
	g.fs.path = append(g.fs.path, segment{glob: glob{"", ""}})
	return notation.Paste(Grant{Family: FS, fs: g.fs}.String())
}
