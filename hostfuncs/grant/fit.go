package grant

import (
	"fmt"
	"slices"
)

// Shape is an entry of a plugin with the arguments that it accepts.
type Shape struct {
	Entry
	// Binds returns nil if an argument can be bound. Otherwise the error says why: it is not in the schema, or its
	// type is not string, integer, boolean or a list of these.
	Binds func(path []string) error
}

// Fit returns the set with each line bound to the entries that it applies to: those that for names, else those that
// have all arguments which the line binds. The error is a *ParseError, for a line whose arguments no entry has, or
// that names an unknown entry.
func (s *Set) Fit(shapes []Shape) (*Set, error) {
	out := &Set{ceiling: s.ceilings(), lines: s.Lines()}
	for i := range out.lines {
		if err := out.lines[i].fit(shapes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (g *Grant) fit(shapes []Shape) error {
	open := g.bindings()
	if len(open) == 0 && len(g.For) == 0 {
		return nil
	}
	for _, name := range g.For {
		if !slices.ContainsFunc(shapes, func(s Shape) bool { return s.Name == name }) {
			return g.failf("for: the plugin offers no %q", name)
		}
	}
	g.applies = map[Entry]bool{}
	var missing error
	for _, s := range shapes {
		if len(g.For) > 0 && !slices.Contains(g.For, s.Name) {
			continue
		}
		switch err := s.has(open); {
		case err == nil:
			g.applies[s.Entry] = true
		case len(g.For) > 0:
			return g.failf("%s %q: %v", s.Kind, s.Name, err)
		default:
			missing = g.failf("no tool of the plugin has the arguments of this line: %s %q: %v", s.Kind, s.Name, err)
		}
	}
	if len(g.applies) == 0 {
		if missing == nil {
			missing = g.failf("the plugin offers nothing that has arguments")
		}
		return missing
	}
	return nil
}

func (s *Shape) has(open []*binding) error {
	for _, b := range open {
		if err := s.Binds(b.path); err != nil {
			return err
		}
	}
	return nil
}

// failf returns an error at the position of a parsed line.
func (g *Grant) failf(format string, args ...any) error {
	return &ParseError{File: g.File, Line: g.Line, Message: fmt.Sprintf(format, args...)}
}
