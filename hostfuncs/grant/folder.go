package grant

// Folder decides about making a folder where nothing is: whoever may write one file, or one folder, that a line spells
// out may also make the folders that lead to it. What such a folder holds besides is not granted.
func (s *Set) Folder(name string, p Places) Decision {
	d := s.FS(Write, name, p)
	if d.Allowed || d.Grant != nil {
		return d
	}
	t := p.target(Write, name)
	if way := s.decide(FS, func(g *Grant) bool { return t.covered(g) || t.leadsToOne(g) }); way.Allowed {
		return way
	}
	return d
}

// leadsToOne reports whether a line to write spells out a place below the target.
func (t *target) leadsToOne(g *Grant) bool {
	if g.Deny || g.Ask || g.fs.op != Write || len(g.fs.within) > 0 {
		return false
	}
	pattern, s, ok := t.subject(g)
	if !ok || len(s.steps) >= len(pattern) || !pattern.spelled() {
		return false
	}
	for i, step := range s.steps {
		if pattern[i].glob[0] != step {
			return false
		}
	}
	return true
}
