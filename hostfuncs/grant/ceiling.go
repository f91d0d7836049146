package grant

import "slices"

// Under returns the set below an additional ceiling: an effect that no line of the ceiling covers is denied, whether
// or not the set allows it. A nil ceiling is ignored; an empty one denies everything.
func (s *Set) Under(ceiling *Set) *Set {
	if ceiling == nil {
		return s
	}
	return &Set{lines: s.all(), ceiling: append(s.ceilings()[:len(s.ceilings()):len(s.ceilings())], ceiling)}
}

// Limits returns the set of deny lines, under the same ceilings. It holds regardless of other grants, and its
// suggestions are those of an otherwise empty set.
func (s *Set) Limits() *Set {
	limits := &Set{ceiling: s.ceilings()}
	for _, g := range s.all() {
		if g.Deny {
			limits.lines = append(limits.lines, g)
		}
	}
	return limits
}

// Ceilings returns the ceilings of the set.
func (s *Set) Ceilings() []*Set { return slices.Clone(s.ceilings()) }

func (s *Set) ceilings() []*Set {
	if s == nil {
		return nil
	}
	return s.ceiling
}

// decide applies the lines of one family, then those of each ceiling, even if no line covers the effect: no additional
// line of the set would help if a ceiling denies it.
func (s *Set) decide(f Family, covers func(*Grant) bool) Decision {
	d := s.all().decide(f, covers)
	if d.Grant != nil && d.Grant.Deny {
		return d
	}
	for _, c := range s.ceilings() {
		top := c.all().decide(f, covers)
		if top.Grant == nil || top.Grant.Deny {
			return Decision{Beyond: true}
		}
		if d.Grant != nil {
			d.lower(&top)
		}
	}
	return d
}

// lower restricts the decision to the limits of a ceiling.
func (d *Decision) lower(c *Decision) {
	if c.Ask && d.Allowed {
		d.Allowed, d.Ask, d.Grant = false, true, c.Grant
	}
	d.Private = d.Private && c.Private
	d.Body, d.Quota = least(d.Body, c.Body), least(d.Quota, c.Quota)
	d.Files = int(least(int64(d.Files), int64(c.Files)))
	d.Calls, d.Tokens, d.Size = min(d.Calls, c.Calls), min(d.Tokens, c.Tokens), min(d.Size, c.Size)
}

// least returns the smaller of two limits, of which 0 is none.
func least(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
