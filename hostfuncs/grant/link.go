package grant

import (
	"slices"
	"strings"
)

// Link is an alias of a folder, such as /tmp for /private/tmp. Both paths are absolute, with forward slashes and
// without a trailing one.
type Link struct{ From, To string }

// real replaces an alias at the beginning of a path. Links that are not in Places lead to a different path, which
// lines must name.
func (p Places) real(name string) string {
	for _, l := range p.Links {
		if rest, ok := strings.CutPrefix(name, l.From); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
			return l.To + rest
		}
	}
	return name
}

// real replaces an alias at the beginning of the pattern of a line, plain or folded.
func (t *target) real(plain, p pattern) pattern {
	for _, l := range t.links {
		n := l.within(plain)
		if n == 0 {
			continue
		}
		to := literals(steps(l.To))
		if len(plain) > 0 && len(p) > 0 && &plain[0] != &p[0] {
			to = to.fold()
		}
		return slices.Concat(to, p[n:])
	}
	return p
}

// within returns the number of segments of a pattern that match the alias literally, 0 if it does not begin with it.
func (l Link) within(p pattern) int {
	n := 0
	for step := range strings.SplitSeq(strings.TrimPrefix(l.From, "/"), "/") {
		if n >= len(p) || p[n].any || p[n].bind != nil || p[n].plugin || !p[n].glob.literal() || p[n].glob[0] != step {
			return 0
		}
		n++
	}
	return n
}
