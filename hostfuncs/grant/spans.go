package grant

import "slices"

// Spans reports whether an allowing line covers all effects of o, for any values of a call, with no lower limits. It
// is false in case of doubt.
func (g Grant) Spans(o Grant, p Places) bool {
	if g.String() == o.String() {
		return true
	}
	if len(g.Who) > 0 && !slices.Equal(g.Who, o.Who) {
		return false
	}
	if g.Family != o.Family || g.Deny || o.Deny || g.bounded() {
		return false
	}
	switch g.Family {
	case FS:
		return g.fs().spans(o.fs(), p)
	case Net:
		return g.net().spans(o.net(), o.net().methods)
	case Tools:
		return !slices.ContainsFunc(o.rule.(*toolList).rules, func(r toolRule) bool {
			return !slices.ContainsFunc(g.rule.(*toolList).rules, func(own toolRule) bool { return own.spans(&r) })
		})
	case Resources:
		return g.rule.(*resourceList).spans(o.rule.(*resourceList))
	}
	return false
}

// bounded reports whether a line needs a confirmation, has limits, or applies to some entries only.
func (g *Grant) bounded() bool {
	r, ok := g.rule.(limited)
	return g.Ask || len(g.For) > 0 || ok && r.bounded()
}

func (r *fsRule) spans(o *fsRule, p Places) bool {
	if r.op == Read && o.op == Write || r.base != o.base || len(r.within) > 0 || o.direct && !r.direct {
		return false
	}
	own, ownKnown := r.absolute(p)
	other, otherKnown := o.absolute(p)
	if !ownKnown || !otherKnown {
		return false
	}
	sample := other.samples()
	return own.spans(other, p.needs(o.op, sample, foldAll(sample)))
}

// absolute returns the path from the root, or from the base of the line; false if the home is not known.
func (r *fsRule) absolute(p Places) (pattern, bool) {
	if !r.home {
		return r.path, true
	}
	return slices.Concat(literals(steps(p.Home)), r.path), p.Home != ""
}

func (r *netRule) spans(o *netRule, methods []string) bool {
	if slices.ContainsFunc(methods, func(m string) bool { return !slices.Contains(r.methods, m) }) || o.idempotent && !r.idempotent || o.private && !r.private {
		return false
	}
	if o.url != nil {
		return r.spansWithin(o, methods)
	}
	return r.url == nil && r.scheme == o.scheme && r.port == o.port && r.spansHost(&o.urlPattern) &&
		r.path.spans(o.path, pathNeed(o.path.samples())) && r.spansQuery(&o.urlPattern, o.methods)
}

// spansWithin compares with a line for a whole address: by the patterns in within.
func (r *netRule) spansWithin(o *netRule, methods []string) bool {
	places := []netRule{*r}
	if r.url != nil {
		if !r.url.equal(o.url) || o.public && !r.public {
			return false
		}
		if places = slices.Clone(r.within); len(places) == 0 {
			return true
		}
	}
	for i := range places {
		places[i].methods = methods
	}
	return len(o.within) > 0 && !slices.ContainsFunc(o.within, func(w netRule) bool {
		return !slices.ContainsFunc(places, func(place netRule) bool { return place.spans(&w, methods) })
	})
}

func (p *param) spans(o *param) bool {
	if p.key != o.key || p.value == nil && p.bind == nil {
		return p.key == o.key
	}
	if o.value == nil && o.bind == nil {
		return false
	}
	own, other := segment{glob: p.value, bind: p.bind, plugin: p.plugin}, segment{glob: o.value, bind: o.bind, plugin: o.plugin}
	return own.standsFor(other, needNothing)
}

func (r *toolRule) spans(o *toolRule) bool {
	if r.name != o.name || o.any && !r.any {
		return false
	}
	for _, a := range r.args {
		at := slices.IndexFunc(o.args, func(b toolArg) bool { return a.key == b.key })
		if at < 0 || (o.args[at].text != a.text || o.args[at].bind != a.bind && !a.bind.equal(o.args[at].bind)) {
			return false
		}
	}
	return r.any || !slices.ContainsFunc(o.args, func(b toolArg) bool {
		return !slices.ContainsFunc(r.args, func(a toolArg) bool { return a.key == b.key })
	})
}

// samples returns a step for each segment: its literal text, or an empty text.
func (p pattern) samples() []string {
	out := make([]string, len(p))
	for i, s := range p {
		if !s.open() {
			out[i] = s.glob[0]
		}
	}
	return out
}

// open reports whether the segment is not literal.
func (s segment) open() bool { return s.any || s.bind != nil || s.plugin || !s.glob.literal() }

// spans compares whole patterns as match compares a pattern with steps. needs are those of the samples of o.
func (p pattern) spans(o pattern, needs []need) bool {
	t := subject{steps: make([]string, len(o)), needs: needs}
	reach := make([]bool, len(o)+1)
	reach[0] = true
	for _, s := range p {
		if s.any {
			t.advance(s, reach)
			continue
		}
		for i := len(o); i > 0; i-- {
			reach[i] = reach[i-1] && s.standsFor(o[i-1], t.need(i-1))
		}
		reach[0] = false
	}
	return reach[len(o)]
}

// standsFor reports whether the segment, which is not **, covers all texts of o in its place.
func (s segment) standsFor(o segment, n need) bool {
	switch {
	case o.any || s.plugin != o.plugin:
		return false
	case o.plugin:
		return true
	case s.bind != nil:
		return o.bind != nil && slices.Equal(s.bind.path, o.bind.path) && (s.bind.form == o.bind.form || o.bind.form == oneStep && s.bind.form == subPath)
	case o.bind != nil:
		return o.bind.form == oneStep && isStar(s.glob)
	case o.glob.literal():
		return (s.glob.literal() || n == needNothing) && s.glob.match(o.glob[0])
	}
	return isStar(s.glob) || slices.Equal(s.glob, o.glob)
}
