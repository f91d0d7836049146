package grant

import (
	"path"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/notation"
)

// Places says where on this machine the lines apply.
type Places struct {
	// Home is what ~ stands for, absolute; lines with ~ cover nothing if it is empty.
	Home string
	// Links are folders that the system, or the operator's account, has under a second name: lines mean by it the
	// folder that it leads to.
	Links []Link
	// Fold says that the file system does not tell upper from lower case.
	Fold bool
	// Repository reports whether a folder, with plain slashes, is taken for a repository by git, whatever its name is; nil
	// is none.
	Repository func(folder string) bool
}

// steps cuts an absolute path; slashes are as on this system or plain.
func steps(name string) []string {
	name = path.Clean(toSlash(name))
	name = strings.TrimPrefix(name, "/")
	if name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// toSlash turns the separators of a Windows path; elsewhere a backslash is part of a name.
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

// below returns the steps after prefix.
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

// target is a path about which lines are asked.
type target struct {
	op     Op
	plain  subject
	folded subject
	home   []string // the home's steps; nil if there is none
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

// subject returns the pattern and the part of the path it is to be compared with.
func (t *target) subject(g *Grant) (pattern, subject, bool) {
	r, s, home, p := &g.fs, t.plain, t.home, g.fs.path
	if r.base != "" {
		return nil, subject{}, false
	}
	if g.Deny || t.fold { // where case may not matter, a denial must not depend on it
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
	if g.Deny && t.op == Read && g.fs.op == Write || !g.Deny && t.op == Write && g.fs.op == Read {
		return false
	}
	p, s, ok := t.subject(g)
	if ok && g.Deny && g.fs.op == Read { // a folder that may not be read is closed
		return p.matchAbove(s)
	}
	return ok && p.match(s) && t.within(g)
}

// within holds the places that the client's folders are cut to.
func (t *target) within(g *Grant) bool {
	if len(g.fs.within) == 0 {
		return true
	}
	return slices.ContainsFunc(g.fs.within, func(r fsRule) bool {
		p, s, ok := t.subject(&Grant{Family: FS, fs: r})
		return ok && p.match(s)
	})
}

// FS decides about one path, which must be absolute and lead through no symbolic link.
func (s *Set) FS(op Op, name string, p Places) Decision {
	t := p.target(op, name)
	d := s.decide(FS, t.covered)
	if d.Grant == nil {
		t.plain.needs, t.folded.needs = nil, nil
		spelled := s.decide(FS, t.covered)
		d.SpellOut = spelled.Allowed || d.Beyond && !spelled.Beyond
	}
	if d.Grant == nil && !d.Beyond {
		d.Suggest = p.suggest(op, name)
	}
	return d
}

// Visible reports whether the path may be read, or, if folder is set and no line denies it, whether a
// line allows something below it, so that whoever goes there has to pass here.
func (s *Set) Visible(name string, folder bool, p Places) bool {
	t := p.target(Read, name)
	d := s.decide(FS, t.covered)
	if d.Grant != nil {
		return d.Allowed
	}
	return folder && s.above(&t)
}

// Above reports whether a line allows something at or below the path.
func (s *Set) Above(name string, p Places) bool {
	t := p.target(Read, name)
	return s.above(&t)
}

func (s *Set) above(t *target) bool {
	for _, c := range s.ceilings() {
		if !c.above(t) {
			return false
		}
	}
	return slices.ContainsFunc(s.all(), func(g Grant) bool { return g.Family == FS && !g.Deny && t.leadsTo(&g) })
}

// leadsTo reports whether a line may allow something at or below the target. Where the client's folders
// are not known yet, it is the places that they are cut to.
func (t *target) leadsTo(g *Grant) bool {
	if g.fs.base == roots {
		return slices.ContainsFunc(g.fs.within, func(r fsRule) bool { return t.leadsTo(&Grant{Family: FS, fs: r}) })
	}
	pattern, subject, ok := t.subject(g)
	return ok && pattern.within(subject) || g.fs.home && g.fs.base == "" && t.aboveHome()
}

// aboveHome reports whether the home lies below the target.
func (t *target) aboveHome() bool {
	steps, home := t.plain.steps, t.home
	if t.fold {
		steps, home = t.folded.steps, foldAll(home)
	}
	_, ok := below(home, steps)
	return ok && t.home != nil
}

// Prefixes returns the part of each line that allows which is literal and no value of the call, as an absolute path,
// sorted as the lines are; of those in the home by each name that the home has.
func (s *Set) Prefixes(p Places) []string {
	var out []string
	for i := range s.all() {
		g := &s.grants[i]
		if g.Family != FS || g.Deny {
			continue
		}
		rules := []fsRule{g.fs}
		if g.fs.base == roots {
			rules = g.fs.within
		}
		for _, r := range rules {
			if r.base != "" || r.home && p.Home == "" {
				continue
			}
			out = append(out, r.prefix(p.Home))
			if real := p.real(p.Home); r.home && real != p.Home {
				out = append(out, r.prefix(real))
			}
		}
	}
	return out
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

// suggest writes the line for this one path, empty if none would allow it.
func (p Places) suggest(op Op, name string) string {
	r := fsRule{op: op}
	all := steps(p.real(name))
	if rest, ok := below(all, steps(p.real(p.Home))); ok && p.Home != "" {
		r.home, all = true, rest
	}
	r.path = literals(all)
	line := notation.Paste(Grant{Family: FS, fs: r}.String())
	g, err := ParseLine(line)
	if t := p.target(op, name); err != nil || !t.covered(&g) {
		return ""
	}
	return line
}
