package grant

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// whoOption limits a line to some callers. It is an option of all families but config, whose values are those of the
// plugin's environment and the same for each call.
func whoOption() lineOption { return lineOption{(*Grant).readWho, (*Grant).writeWho} }

func (g *Grant) readWho(n Node) error {
	nodes, err := texts(n)
	if err != nil {
		return err
	}
	g.Who = nil
	for _, e := range nodes {
		g.Who = append(g.Who, e.Value)
	}
	if g.callers, err = identity.ParseWho(g.Who); err != nil {
		return failf(n.Line, "who: %v", err)
	}
	return nil
}

func (g *Grant) writeWho() string {
	if len(g.Who) == 0 {
		return ""
	}
	plain := func(r rune) bool { return !strings.ContainsRune(wordBytes+":/", r) }
	words := make([]string, len(g.Who))
	for i, name := range g.Who {
		if words[i] = name; strings.ContainsFunc(name, plain) {
			words[i] = formatWord(name)
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// ForCallers returns the line for some callers alone. The error is that of identity.ParseWho.
func (g Grant) ForCallers(names ...string) (Grant, error) {
	who, err := identity.ParseWho(names)
	g.Who, g.callers = names, who
	return g, err
}

// ForAll returns the line for all callers.
func (g Grant) ForAll() Grant {
	g.Who, g.callers = nil, identity.Who{}
	return g
}

// Admits reports whether the line is for a caller.
func (g *Grant) Admits(id identity.Identity) bool { return len(g.Who) == 0 || g.callers.Has(id) }

// Resolve returns the set with the names of callers in each line resolved: resolve returns the callers for the names in
// a line, such as with the members of groups. An error of resolve becomes a *ParseError.
func (s *Set) Resolve(resolve func(names []string) (identity.Who, error)) (*Set, error) {
	out := &Set{ceiling: s.ceilings(), lines: s.Lines()}
	for i := range out.lines {
		g := &out.lines[i]
		if len(g.Who) == 0 {
			continue
		}
		who, err := resolve(g.Who)
		if err != nil {
			return nil, g.failf("who: %v", err)
		}
		g.callers = who
	}
	return out, nil
}

// ResolveAs returns a line with the callers of the line in l with the same names: those with its groups. Without such a
// line it is unchanged.
func (l Lines) ResolveAs(g Grant) Grant {
	for _, own := range l {
		if len(g.Who) > 0 && slices.Equal(own.Who, g.Who) {
			g.callers = own.callers
			break
		}
	}
	return g
}

// NamesCallers reports whether a line is limited to some callers.
func (l Lines) NamesCallers() bool {
	return slices.ContainsFunc(l, func(g Grant) bool { return len(g.Who) > 0 })
}

// ForAll returns the set with each line for all callers.
func (s *Set) ForAll() *Set {
	if !s.all().NamesCallers() {
		return s
	}
	out := &Set{ceiling: s.ceilings(), lines: s.Lines()}
	for i := range out.lines {
		out.lines[i] = out.lines[i].ForAll()
	}
	return out
}
