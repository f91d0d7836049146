package grant

import (
	"path"
	"slices"
	"strings"
)

// Places describes the paths of this machine that lines depend on.
type Places struct {
	// Home is the absolute path of ~. If it is empty, lines with ~ cover nothing.
	Home string
	// Links are aliases of folders, by the system or the operator's account. In a line, an alias means its target.
	Links []Link
	// Fold means that the file system is not case-sensitive.
	Fold bool
	// Repository reports whether git treats a folder, with forward slashes, as a repository regardless of its name.
	// Nil means that none is.
	Repository func(folder string) bool
}

// steps splits an absolute path. Separators are those of this system or forward slashes.
func steps(name string) []string {
	name = path.Clean(toSlash(name))
	name = strings.TrimPrefix(name, "/")
	if name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// toSlash converts the separators of a Windows path. Elsewhere a backslash is part of a name.
func toSlash(name string) string {
	if isDrive(name) {
		return strings.ReplaceAll(name, `\`, "/")
	}
	return name
}

func foldAll(steps []string) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = foldName(s)
	}
	return out
}

// below returns the segments after prefix.
func below(steps, prefix []string) ([]string, bool) {
	if len(steps) < len(prefix) {
		return nil, false
	}
	for i, s := range prefix {
		if steps[i] != s {
			return nil, false
		}
	}
	return steps[len(prefix):], true
}

// target is the path of a decision.
type target struct {
	op     Op
	plain  subject
	folded subject
	home   []string // segments of the home; nil if there is none
	links  []Link
	fold   bool
}

func (p Places) target(op Op, name string) target {
	t := target{op: op, fold: p.Fold, links: p.Links}
	t.plain.steps = steps(p.real(name))
	if p.Home != "" {
		t.home = append([]string{}, steps(p.real(p.Home))...)
	}
	t.folded.steps = foldAll(t.plain.steps)
	t.plain.needs = p.needs(op, t.plain.steps, t.folded.steps)
	t.folded.needs = t.plain.needs
	return t
}

// subject returns the pattern of a line, and the part of the path to compare with it.
func (t *target) subject(g *Grant) (pattern, subject, bool) {
	r, s, home := g.fs(), t.plain, t.home
	p := r.path
	if r.base != "" {
		return nil, subject{}, false
	}
	if g.Deny || t.fold { // a denial must not depend on case where case may not matter
		s, home, p = t.folded, foldAll(t.home), r.folded
	}
	if g.Deny {
		s.needs = nil
	}
	if !r.home {
		return t.real(r.path, p), s, true
	}
	rest, ok := below(s.steps, home)
	if !ok || t.home == nil {
		return nil, subject{}, false
	}
	if s.needs != nil {
		s.needs = s.needs[len(s.steps)-len(rest):]
	}
	s.steps = rest
	return p, s, true
}

func (t *target) covered(g *Grant) bool {
	if g.Deny && t.op == Read && g.fs().op == Write || !g.Deny && t.op == Write && g.fs().op == Read {
		return false
	}
	p, s, ok := t.subject(g)
	if ok && g.Deny && g.fs().op == Read { // a folder that must not be read is closed
		return p.matchAbove(s)
	}
	return ok && p.match(s) && t.within(g)
}

// within reports whether the target matches within, to which the client's folders are limited.
func (t *target) within(g *Grant) bool {
	if len(g.fs().within) == 0 {
		return true
	}
	return slices.ContainsFunc(g.fs().within, func(r fsRule) bool {
		p, s, ok := t.subject(&Grant{Family: FS, rule: &r})
		return ok && p.match(s)
	})
}

// above reports whether a line of a set, and of each ceiling, may allow a path at or below the target.
func (t *target) above(s *Set) bool {
	for _, c := range s.ceilings() {
		if !t.above(c) {
			return false
		}
	}
	return slices.ContainsFunc(s.all(), func(g Grant) bool { return g.Family == FS && !g.Deny && t.leadsTo(&g) })
}

// beneath returns the first line of a set that allows a path below the target; nil if there is none, or if a ceiling has none.
func (t *target) beneath(s *Set) *Grant {
	for _, c := range s.ceilings() {
		if t.beneath(c) == nil {
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

// leadsTo reports whether a line may allow a path at or below the target. While the client's folders are not known,
// the patterns in within are used.
func (t *target) leadsTo(g *Grant) bool {
	if g.fs().base == roots {
		return slices.ContainsFunc(g.fs().within, func(r fsRule) bool { return t.leadsTo(&Grant{Family: FS, rule: &r}) })
	}
	pattern, subject, ok := t.subject(g)
	return ok && pattern.within(subject) || g.fs().home && g.fs().base == "" && t.aboveHome()
}

// aboveHome reports whether the home is below the target.
func (t *target) aboveHome() bool {
	steps, home := t.plain.steps, t.home
	if t.fold {
		steps, home = t.folded.steps, foldAll(home)
	}
	_, ok := below(home, steps)
	return ok && t.home != nil
}

func (r *fsRule) prefix(home string) string {
	var b strings.Builder
	if r.home {
		b.WriteString(strings.TrimSuffix(toSlash(home), "/"))
	}
	for i, s := range r.path[:max(r.path.spelledPrefix(), r.folder)] {
		if i > 0 || r.home || !s.isDrive() {
			b.WriteString("/")
		}
		b.WriteString(s.glob[0])
	}
	if b.Len() == 0 || b.Len() == 2 && !strings.HasPrefix(b.String(), "/") {
		b.WriteString("/")
	}
	return b.String()
}

// suggest returns the line for this one path, empty if none would allow it.
func (p Places) suggest(op Op, name string) string {
	r := &fsRule{op: op}
	all := steps(p.real(name))
	if rest, ok := below(all, steps(p.real(p.Home))); ok && p.Home != "" {
		r.home, all = true, rest
	}
	r.path = literals(all)
	line := Quote(Grant{Family: FS, rule: r}.String())
	g, err := ParseLine(line)
	if t := p.target(op, name); err != nil || !t.covered(&g) {
		return ""
	}
	return line
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

// paves reports whether the target is a folder above the pattern of a line to write, by literal names or values of the
// call. A value cannot stand for a name that must be literal.
func (t *target) paves(g *Grant) bool {
	if g.Deny || g.Ask || g.fs().op != Write || !t.within(g) {
		return false
	}
	pattern, s, ok := t.subject(g)
	if !ok || len(s.steps) >= len(pattern) || len(s.steps) > pattern.prefix() {
		return false
	}
	for i := range s.steps {
		if !s.fits(pattern[i], i) {
			return false
		}
	}
	return true
}
