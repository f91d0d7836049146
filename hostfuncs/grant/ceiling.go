package grant

import "slices"

// Under returns the set below one more ceiling: an effect that no line of the ceiling covers is refused,
// whatever the set allows. A nil ceiling is none; an empty one refuses everything.
func (s *Set) Under(ceiling *Set) *Set {
	if ceiling == nil {
		return s
	}
	return &Set{grants: s.all(), ceiling: append(s.ceilings()[:len(s.ceilings()):len(s.ceilings())], ceiling)}
}

// Limits returns what holds whatever else is granted: the lines that deny, under the same ceilings. A line that one
// suggests is suggested by it.
func (s *Set) Limits() *Set {
	limits := &Set{ceiling: s.ceilings()}
	for _, g := range s.all() {
		if g.Deny {
			limits.grants = append(limits.grants, g)
		}
	}
	return limits
}

// Ceilings returns what the set is under.
func (s *Set) Ceilings() []*Set { return slices.Clone(s.ceilings()) }

func (s *Set) ceilings() []*Set {
	if s == nil {
		return nil
	}
	return s.ceiling
}

// decide goes through the lines of one family, and then through those of each ceiling, also if no line covers the
// effect: one more line of the set would not help then.
func (s *Set) decide(f Family, covers func(*Grant) bool) Decision {
	d := s.own(f, covers)
	if d.Grant != nil && d.Grant.Deny {
		return d
	}
	for _, c := range s.ceilings() {
		top := c.own(f, covers)
		if top.Grant == nil || top.Grant.Deny {
			return Decision{Beyond: true}
		}
		if d.Grant != nil {
			d.lower(&top)
		}
	}
	return d
}

// lower takes what a ceiling allows less into the decision.
func (d *Decision) lower(c *Decision) {
	if c.Ask && d.Allowed {
		d.Allowed, d.Ask, d.Grant = false, true, c.Grant
	}
	d.Private = d.Private && c.Private
	d.Body, d.Quota = least(d.Body, c.Body), least(d.Quota, c.Quota)
	d.Files = int(least(int64(d.Files), int64(c.Files)))
	d.Calls, d.Tokens, d.Size = min(d.Calls, c.Calls), min(d.Tokens, c.Tokens), min(d.Size, c.Size)
}

// least is the smaller of two bounds, of which 0 is none.
func least(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
