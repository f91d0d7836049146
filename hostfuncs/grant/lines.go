package grant

import (
	"slices"
	"strings"
)

// Lines are grants in the order of a file. Its methods are about the lines as written; a Set decides by them, under its
// ceilings.
type Lines []Grant

// String returns the grants, one per line.
func (l Lines) String() string {
	var b strings.Builder
	for _, g := range l {
		b.WriteString(g.String() + "\n")
	}
	return b.String()
}

func (l Lines) same(o Lines) bool { return slices.EqualFunc(l, o, Grant.same) }

// decide applies the lines of one family: deny lines first, then allowing lines. Lines for some callers allow nothing
// before they are bound to a call.
func (l Lines) decide(f Family, covers func(*Grant) bool) Decision {
	for i := range l {
		if g := &l[i]; g.Family == f && g.Deny && covers(g) {
			return Decision{Grant: g}
		}
	}
	var d Decision
	for i := range l {
		if g := &l[i]; g.Family == f && !g.Deny && (len(g.Who) == 0 || g.bound) && covers(g) {
			d.add(g)
		}
	}
	return d
}
