package grant

// Folder decides on creating a folder at a vacant path. A line to write also allows the folders that lead to its
// pattern, up to the first wildcard. Other content of such a folder is not granted.
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

// paves reports whether the target is a folder above the pattern of a line to write, by literal names or values of the
// call. A value cannot stand for a name that must be literal.
func (t *target) paves(g *Grant) bool {
	if g.Deny || g.Ask || g.fs().op != Write || !t.within(g) {
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
