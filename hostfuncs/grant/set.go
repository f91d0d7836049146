package grant

import "slices"

// Set contains the grants of one plugin. A nil Set grants nothing. It is immutable and safe for concurrent use. Its
// methods decide on an effect, or return a set for a narrower use; decisions on files are in Files, and questions about
// the lines as written in Lines. It has more than twenty methods, since each family has its decision and each use its
// set.
type Set struct {
	lines   Lines
	ceiling []*Set // each must cover an effect too
}

// NewSet returns a set of these grants.
func NewSet(grants ...Grant) *Set { return &Set{lines: slices.Clone(grants)} }

// With returns a set with additional grants.
func (s *Set) With(grants ...Grant) *Set {
	return &Set{lines: append(slices.Clone(s.all()), grants...), ceiling: s.ceilings()}
}

// Lines returns the grants in the order of their lines.
func (s *Set) Lines() Lines { return slices.Clone(s.all()) }

// From returns the set with the name of the file that its lines were read from.
func (s *Set) From(file string) *Set {
	out := &Set{lines: s.Lines(), ceiling: s.ceilings()}
	for i := range out.lines {
		out.lines[i].File = file
	}
	return out
}

// String returns the grants, one per line.
func (s *Set) String() string { return s.all().String() }

// Same reports whether two sets have the same lines, regardless of their position in a file.
func (s *Set) Same(o *Set) bool {
	return s.all().same(o.all()) && slices.EqualFunc(s.ceilings(), o.ceilings(), (*Set).Same)
}

func (s *Set) all() Lines {
	if s == nil {
		return nil
	}
	return s.lines
}
