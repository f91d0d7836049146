package jsonschema

import (
	"strings"
)

func (e *evaluator) checkCombined(c *combinedRule, v value, m marks) bool {
	for _, sub := range c.allOf {
		if !e.check(sub, v, m) {
			return false
		}
	}
	if c.anyOf != nil && !e.checkAny(c.anyOf, v, m) || c.oneOf != nil && !e.checkOne(c.oneOf, v, m) {
		return false
	}
	if c.not != nil && e.silently(c.not, v, nil) {
		return e.fail("has a form that is excluded")
	}
	if c.when != nil && !e.checkWhen(c, v, m) {
		return false
	}
	return e.stopped == nil
}

// attempt checks one alternative and records evaluated members only if it passes.
func (e *evaluator) attempt(r *rule, v value, m marks) bool {
	if m == nil {
		return e.silently(r, v, nil)
	}
	own := e.newMarks(v)
	if !e.silently(r, v, own) {
		return false
	}
	m.add(own)
	return true
}

// checkAny requires one passing alternative. If marks are recorded, it has to check all of them.
func (e *evaluator) checkAny(forms []*rule, v value, m marks) bool {
	found := false
	for _, form := range forms {
		if e.attempt(form, v, m) {
			if found = true; m == nil {
				break
			}
		}
		if e.stopped != nil {
			return false
		}
	}
	return found || e.explain(forms, v)
}

func (e *evaluator) checkOne(forms []*rule, v value, m marks) bool {
	found := 0
	for _, form := range forms {
		if e.attempt(form, v, m) {
			found++
		}
		if e.stopped != nil {
			return false
		}
		if found > 1 {
			return e.fail("fits more than one of the %d forms, of which it must fit one", len(forms))
		}
	}
	return found == 1 || e.explain(forms, v)
}

func (e *evaluator) checkWhen(c *combinedRule, v value, m marks) bool {
	branch := c.then
	if !e.attempt(c.when, v, m) {
		branch = c.otherwise
	}
	return e.stopped == nil && (branch == nil || e.check(branch, v, m))
}

// maxExplained is the maximum number of alternatives evaluated again for the best message.
const maxExplained = 16

// explain fails with the violation of the closest alternative: the one that failed at the deepest position, where a
// wrong type or constant counts less. If several are equally close, it summarizes them.
func (e *evaluator) explain(forms []*rule, v value) bool {
	if e.quiet {
		return false
	}
	before := e.alone
	e.alone = true // only the violation that determines the score
	defer func() { e.alone = before }()
	var best *ValidationError
	var types kind
	score, tied := -1, false
	for _, form := range forms[:min(len(forms), maxExplained)] {
		e.err = nil
		if e.check(form, v, nil) || e.err == nil {
			continue
		}
		types |= wantedType(form, e.hasType, v)
		switch s := e.score(e.err); {
		case s > score:
			best, score, tied = e.err, s, false
		case s == score:
			tied = true
		}
	}
	e.err = best
	if best != nil && !tied {
		return false
	}
	if score == 0 && types != 0 {
		return e.failAs(rankType, "want %v, but got %v", types, v.kind)
	}
	return e.fail("fits none of the %d forms that are allowed", len(forms))
}

// wantedType returns the types of an alternative that excludes the type of v.
func wantedType(form *rule, has func(kind, value) bool, v value) kind {
	for hops := 0; form.ref != nil && !form.typed && hops < maxDepth; hops++ {
		form = form.ref
	}
	if form.typed && !has(form.types, v) {
		return form.types
	}
	return 0
}

// score rates how close an alternative with this violation is.
func (e *evaluator) score(err *ValidationError) int {
	depth := strings.Count(err.Pointer, "/") - len(e.path)
	switch {
	case e.rank == rankType && depth == 0:
		return 0
	case e.rank == rankConst:
		return 1
	case e.rank == rankType:
		return 2 * depth
	}
	return 2*depth + 2
}
