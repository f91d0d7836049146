package grant

// Files decides on the files of one machine.
type Files struct {
	set    *Set
	places Places
}

// Files returns the decisions of the set on files.
func (s *Set) Files(p Places) Files { return Files{s, p} }

// Decide decides on one path, which must be absolute and contain no symbolic link.
func (f Files) Decide(op Op, name string) Decision {
	t := f.places.target(op, name)
	d := f.set.decide(FS, t.covered)
	if d.Grant == nil {
		t.plain.needs, t.folded.needs = nil, nil
		spelled := f.set.decide(FS, t.covered)
		d.SpellOut = spelled.Allowed || d.Beyond && !spelled.Beyond
	}
	if d.Grant == nil && !d.Beyond {
		d.Suggest = f.places.suggest(op, name)
	}
	return d
}

// List decides on listing a folder. It is allowed if a path below the folder may be read; only names that lead to such
// paths are visible. A grant to read only the folder itself shows no names. The suggested line shows all of them.
func (f Files) List(name string) Decision {
	d := f.Decide(Read, name)
	if d.Grant != nil && !d.Allowed {
		return d
	}
	t := f.places.target(Read, name)
	if by := t.beneath(f.set); by != nil {
		return Decision{Allowed: true, Grant: by}
	}
	if d.Allowed {
		d = Decision{}
	}
	if d.Suggest = ""; !d.Beyond {
		d.Suggest = f.places.suggestNames(name)
	}
	return d
}

// Folder decides on creating a folder at a vacant path. A line to write also allows the folders that lead to its
// pattern, up to the first wildcard. Other content of such a folder is not granted.
func (f Files) Folder(name string) Decision {
	d := f.Decide(Write, name)
	if d.Allowed || d.Grant != nil {
		return d
	}
	t := f.places.target(Write, name)
	if way := f.set.decide(FS, func(g *Grant) bool { return t.covered(g) || t.paves(g) }); way.Allowed {
		return way
	}
	return d
}

// Visible reports whether the path may be read or, if folder is set and no line denies it, whether a line allows a
// path below it, so that the folder must be passed to get there.
func (f Files) Visible(name string, folder bool) bool {
	t := f.places.target(Read, name)
	d := f.set.decide(FS, t.covered)
	if d.Grant != nil {
		return d.Allowed
	}
	return folder && t.above(f.set)
}

// Above reports whether a line allows a path at or below name.
func (f Files) Above(name string) bool {
	t := f.places.target(Read, name)
	return t.above(f.set)
}

// Prefixes returns the literal part of each allowing line, without values of the call, as an absolute path in the
// order of the lines. A path in the home is returned for each name of the home.
func (f Files) Prefixes() []string {
	var out []string
	for i := range f.set.all() {
		g := &f.set.lines[i]
		if g.Family != FS || g.Deny {
			continue
		}
		rules := []fsRule{*g.fs()}
		if g.fs().base == roots {
			rules = g.fs().within
		}
		for _, r := range rules {
			if r.base != "" || r.home && f.places.Home == "" {
				continue
			}
			out = append(out, r.prefix(f.places.Home))
			if real := f.places.real(f.places.Home); r.home && real != f.places.Home {
				out = append(out, r.prefix(real))
			}
		}
	}
	return out
}
