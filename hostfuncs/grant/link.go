package grant

import (
	"slices"
	"strings"
)

// Link is a folder with a second name, such as /tmp for /private/tmp. Both are absolute, with plain slashes and without
// one at the end.
type Link struct{ From, To string }

// real is a path with the second names of folders replaced. Other links than those of Places lead to another place,
// which lines have to name by itself.
func (p Places) real(name string) string {
	for _, l := range p.Links {
		if rest, ok := strings.CutPrefix(name, l.From); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
			return l.To + rest
		}
	}
	return name
}

// real is the pattern of a line, plain or folded, with the second name replaced that it begins with.
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

// within is how many segments of a pattern spell out the second name, 0 if it does not begin with it.
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
