package grant

import (
	"path"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/notation"
)

// Op is what is done with a path.
type Op uint8

// The operations a line can grant.
const (
	Read Op = iota
	Write
)

// String returns "read" or "write".
func (o Op) String() string {
	if o == Write {
		return "write"
	}
	return "read"
}

// fsRule is what an fs line says.
type fsRule struct {
	op     Op
	home   bool     // the pattern begins with ~
	base   base     // what it begins with until it is known; empty for / and ~
	folder int      // the steps of the path that {workspace} stood for
	within []fsRule // of {roots}: only there
	path   pattern  // below the root or the home
	folded pattern  // path in lower case
	direct bool     // written in place
	quota  int64    // bytes that one call may write; 0 if the line does not say
	files  int      // files likewise
}

// base is a place that is known later than the line.
type base string

const (
	workspace base = "{workspace}" // the operator's setting
	roots     base = "{roots}"     // the client's folders
)

// parseFS reads "read PATTERN", "write PATTERN" or "read,write PATTERN".
func parseFS(text string, line int) (r fsRule, err error) {
	ops, name, found := strings.Cut(text, " ")
	if !found {
		return r, failf(line, "fs needs an operation and a path: write such as %q", example(FS))
	}
	for op := range strings.SplitSeq(ops, ",") {
		switch op {
		case "read":
		case "write":
			r.op = Write
		default:
			return r, failf(line, "unknown fs operation %q: write read or write", op)
		}
	}
	name = strings.TrimSpace(name)
	rest, err := r.parseRoot(name, line)
	if err != nil {
		return r, err
	}
	return r, r.parsePath(rest, line)
}

// parseRoot takes off what the pattern begins with, and turns a Windows path's separators.
func (r *fsRule) parseRoot(name string, line int) (string, error) {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		r.home = true
		return name[1:], nil
	case strings.HasPrefix(name, string(workspace)) || strings.HasPrefix(name, string(roots)):
		word, rest, _ := strings.Cut(name, "}")
		r.base = base(word + "}")
		if rest != "" && rest[0] != '/' {
			return "", failf(line, "a slash is missing after %s", r.base)
		}
		return rest, nil
	case strings.HasPrefix(name, "{") && !isEscape(name):
		if isBinding(name) {
			return "", failf(line, "a path begins with / or ~/ or {workspace} or {roots}, not with a value of the call")
		}
		return "", unknownBinding(name, line)
	case isDrive(name):
		return strings.ReplaceAll(name, `\`, "/"), nil
	case strings.HasPrefix(name, "/"):
		return name, nil
	}
	return "", failf(line, "path %q begins neither with / nor with ~/: write the whole path", name)
}

// isDrive reports whether a path begins with a Windows drive.
func isDrive(name string) bool {
	return len(name) >= 3 && name[1] == ':' && (name[2] == '/' || name[2] == '\\') &&
		(name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

func (r *fsRule) parsePath(name string, line int) error {
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return failf(line, "a path holds no ..: write the folder that is meant")
		}
		s, err := parsePathSegment(part, line)
		if err != nil {
			return err
		}
		if r.path = append(r.path, s); len(r.path) > maxSegments {
			return failf(line, "the path has more than %d segments", maxSegments)
		}
	}
	if len(r.path) > 0 && (r.path[0].bind != nil) && !r.home && r.base == "" {
		return failf(line, "a path does not begin with a value of the call: write the folder that it lies in")
	}
	r.folded = r.path.fold()
	return nil
}

// isEscape reports whether s begins with a character in braces that stands for itself.
func isEscape(s string) bool {
	return len(s) >= 3 && s[0] == '{' && s[2] == '}' && strings.IndexByte("*{} ", s[1]) >= 0
}

// parsePathSegment reads stars as wildcards, and what an escape holds as itself.
func parsePathSegment(text string, line int) (segment, error) {
	if text == "**" {
		return segment{any: true}, nil
	}
	if isBinding(text) {
		return parseBoundSegment(text, line, oneStep, subPath)
	}
	g := glob{""}
	for rest := text; rest != ""; {
		n := 1
		switch {
		case isEscape(rest):
			g[len(g)-1] += rest[1:2]
			n = 3
		case rest[0] == '{':
			return segment{}, notAlone(rest, line)
		case rest[0] == '}':
			return segment{}, failf(line, "a lone } in %q: write {}}", text)
		case strings.HasPrefix(rest, "**"):
			return segment{}, failf(line, "** stands alone between slashes")
		case rest[0] == '*':
			g = append(g, "")
		default:
			g[len(g)-1] += rest[:1]
		}
		rest = rest[n:]
	}
	return segment{glob: g}, nil
}

// parseBoundSegment reads a segment that is a binding.
func parseBoundSegment(text string, line int, forms ...form) (segment, error) {
	if text == "{plugin}" {
		return segment{plugin: true, glob: glob{text}}, nil
	}
	b, rest, err := parseBinding(text, line, forms...)
	if err == nil && rest != "" {
		err = notAlone(text, line)
	}
	return segment{bind: b, glob: glob{""}}, err
}

// notAlone says that a binding has a neighbour.
func notAlone(text string, line int) error {
	if !isBinding(text) {
		return unknownBinding(text, line)
	}
	end := strings.IndexByte(text, '}')
	if end < 0 {
		return failf(line, "%s has no }: write such as {args.owner}", text)
	}
	return failf(line, "%s stands alone between slashes or dots: a value fills the whole step", text[:end+1])
}

func escapePath(s string) string {
	return strings.NewReplacer("*", "{*}", "{", "{{}", "}", "{}}").Replace(s)
}

// String writes the rule as parseFS reads it.
func (r *fsRule) String() string {
	var b strings.Builder
	b.WriteString(r.op.String() + " ")
	if r.home {
		b.WriteString("~")
	}
	b.WriteString(string(r.base))
	for i, s := range r.path {
		if i > 0 || r.home || r.base != "" || !s.isDrive() {
			b.WriteString("/")
		}
		b.WriteString(s.format(escapePath))
	}
	if len(r.path) == 0 && !r.home && r.base == "" || len(r.path) == 1 && !r.home && r.path[0].isDrive() {
		b.WriteString("/")
	}
	if text, found := strings.CutSuffix(b.String(), " "); found {
		return text + "{ }" // a line loses its last blanks
	}
	return b.String()
}

func (s segment) isDrive() bool {
	return !s.any && s.bind == nil && s.glob.literal() && len(s.glob[0]) == 2 && isDrive(s.glob[0]+"/")
}

// Places says where on this machine the lines apply.
type Places struct {
	// Home is what ~ stands for, absolute; lines with ~ cover nothing if it is empty.
	Home string
	// RealHome is Home without symbolic links, so that keys are known there by that name too; empty if
	// it is the same.
	RealHome string
	// Fold says that the file system does not tell upper from lower case.
	Fold bool
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
		out[i] = strings.ToLower(s)
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
	fold   bool
}

func (p Places) target(op Op, name string) target {
	t := target{op: op, fold: p.Fold}
	t.plain.steps = steps(name)
	if p.Home != "" {
		t.home = append([]string{}, steps(p.Home)...)
	}
	t.folded.steps = foldAll(t.plain.steps)
	t.plain.needs = p.needs(op, t.folded.steps)
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
		return p, s, true
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
	if d.Grant == nil && !d.Beyond {
		d.Suggest = p.suggest(op, name)
		t.plain.needs, t.folded.needs = nil, nil
		d.SpellOut = s.decide(FS, t.covered).Allowed
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

// Prefixes returns the literal part of each line that allows, as an absolute path, sorted as the lines are.
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
			if r.base == "" && (!r.home || p.Home != "") {
				out = append(out, p.prefix(&Grant{fs: r}))
			}
		}
	}
	return out
}

func (p Places) prefix(g *Grant) string {
	var b strings.Builder
	if g.fs.home {
		b.WriteString(strings.TrimSuffix(toSlash(p.Home), "/"))
	}
	for i, s := range g.fs.path[:g.fs.path.prefix()] {
		if i > 0 || g.fs.home || !s.isDrive() {
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
	all := steps(name)
	if home := steps(p.Home); p.Home != "" {
		if rest, ok := below(all, home); ok {
			r.home, all = true, rest
		}
	}
	r.path = literals(all)
	line := notation.Paste(Grant{Family: FS, fs: r}.String())
	g, err := ParseLine(line)
	if t := p.target(op, name); err != nil || !t.covered(&g) {
		return ""
	}
	return line
}
