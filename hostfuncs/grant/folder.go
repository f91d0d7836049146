package grant

// Folder decides about making a folder where nothing is: whoever may write somewhere may also make the folders that lead
// there, as far as the line names them: up to its first wildcard. What such a folder holds besides is not granted.
func (s *Set) Folder(name string, p Places) Decision {
	d := s.FS(Write, name, p)
	if d.Allowed || d.Grant != nil {
		return d
	}
	t := p.target(Write, name)
	if way := s.decide(FS, func(g *Grant) bool { return t.covered(g) || t.paves(g) }); way.Allowed {
		return way
	}
	return d
}

// paves reports whether the target leads to where a line to write begins, by names that the line has itself or by
// values of the call; names that are spared unless they are spelled out are none of a value.
func (t *target) paves(g *Grant) bool {
	if g.Deny || g.Ask || g.fs.op != Write || !t.within(g) {
		return false
	}
	pattern, s, ok := t.subject(g)
	if !ok || len(s.steps) >= len(pattern) || len(s.steps) > pattern.prefix() {
		return false
	}
	for i := range s.steps {
		if !s.fits(pattern[i], i) {
			return false
		}
	}
	return true
}
