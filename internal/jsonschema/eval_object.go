package jsonschema

import "github.com/sallyport-mcp/sallyport/internal/jsonraw"

// field checks a member of an object.
func (e *evaluator) field(r *rule, m value) bool {
	if r.never {
		return e.failAt(string(e.key(m)), "is not a known property")
	}
	return e.below(r, m)
}

func (e *evaluator) checkObject(o *objectRule, v value, m marks) bool {
	if n := int(v.n); n < o.min {
		return e.fail("want at least %s, but got %d", count(o.min, "property"), n)
	} else if o.max >= 0 && n > o.max {
		return e.fail("want at most %s, but got %d", count(o.max, "property"), n)
	}
	return e.checkFields(o, v, m) && e.checkNames(o, v) && e.checkDependencies(o, v, m)
}

// checkFields checks all members and the required ones.
func (e *evaluator) checkFields(o *objectRule, v value, m marks) bool {
	if !e.spend(len(o.required) / quickWork) {
		return false
	}
	seen, fit := newSeen(len(o.required)), true
	for i, member := range e.members(v) {
		if !e.spend(int(member.keyEnd-member.keyStart) / workBytes) {
			return false
		}
		f, known := o.fields[string(e.key(member))]
		if !known && o.folded != nil && !e.checkCase(o, member) {
			return false
		}
		if f.required > 0 {
			seen.set(f.required - 1)
		}
		evaluated, ok := e.checkField(o, f.rule, member)
		if !ok {
			if fit = false; !e.goesOn() {
				return false
			}
		}
		if evaluated {
			m.set(i)
		}
	}
	for i, key := range o.required {
		if !seen.has(i) {
			if fit = e.failAt(key, "is required"); !e.goesOn() {
				return false
			}
		}
	}
	return fit
}

// checkCase refuses a case variant of a property.
func (e *evaluator) checkCase(o *objectRule, m value) bool {
	key := string(e.key(m))
	if name, ok := o.folded[jsonraw.Fold(key)]; ok {
		return e.failAt(key, "is the property %s in another case", name)
	}
	return true
}

// seen is the set of required members that an object has. few covers objects with up to 64 of them without allocation.
type seen struct {
	few  uint64
	many []bool
}

func newSeen(n int) seen {
	if n > 64 {
		return seen{many: make([]bool, n)}
	}
	return seen{}
}

func (s *seen) set(i int) {
	if s.many != nil {
		s.many[i] = true
		return
	}
	s.few |= 1 << i
}

func (s *seen) has(i int) bool {
	if s.many != nil {
		return s.many[i]
	}
	return s.few&(1<<i) != 0
}

// checkField applies properties, patternProperties and additionalProperties to one member.
func (e *evaluator) checkField(o *objectRule, named *rule, m value) (evaluated, ok bool) {
	if !e.spend(1) {
		return false, false
	}
	if named != nil {
		if evaluated = true; !e.below(named, m) {
			return true, false
		}
	}
	if o.patterns != nil {
		matched, ok := e.checkPatterns(o.patterns, m)
		if !ok {
			return true, false
		}
		evaluated = evaluated || matched
	}
	if evaluated || o.additional == nil {
		return evaluated, true
	}
	return true, e.field(o.additional, m)
}

// checkPatterns applies patternProperties to one member. A pattern that is not enforced matches every member,
// without a requirement.
func (e *evaluator) checkPatterns(patterns []patternRule, m value) (matched, ok bool) {
	key := e.key(m)
	for _, p := range patterns {
		found, certain := e.match(p.pattern, key)
		switch {
		case !certain:
			return false, false
		case !found:
			continue
		}
		matched = true
		if p.pattern.re != nil && !e.below(p.rule, m) {
			return true, false
		}
	}
	return matched, true
}

// checkNames applies propertyNames: each key is validated as a string value.
func (e *evaluator) checkNames(o *objectRule, v value) bool {
	if o.names == nil {
		return true
	}
	for _, m := range e.members(v) {
		name := value{start: m.keyStart - 1, end: m.keyEnd + 1, kind: kindString, escaped: m.keyEscaped}
		if e.check(o.names, name, nil) {
			continue
		}
		if e.err != nil && !e.quiet {
			return e.failAt(string(e.key(m)), "is not an allowed name: %s", e.err.Message)
		}
		return false
	}
	return true
}

func (e *evaluator) checkDependencies(o *objectRule, v value, m marks) bool {
	for _, d := range o.dependencies {
		if !e.has(v, d.key) {
			continue
		}
		for _, key := range d.required {
			if !e.has(v, key) {
				return e.failAt(key, "is required when %s is there", shown(d.key))
			}
		}
		if d.rule != nil && !e.check(d.rule, v, m) {
			return false
		}
	}
	return e.stopped == nil
}

// has reports whether an object has a member key.
func (e *evaluator) has(v value, key string) bool {
	if !e.spend(1 + int(v.n)/8) {
		return false
	}
	for _, m := range e.members(v) {
		if m.keyEscaped && !e.spend(int(m.keyEnd-m.keyStart)/workBytes) {
			return false
		}
		if string(e.key(m)) == key {
			return true
		}
	}
	return false
}
