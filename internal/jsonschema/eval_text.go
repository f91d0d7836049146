package jsonschema

import (
	"unicode/utf8"
)

func (e *evaluator) checkText(t *textRule, v value) bool {
	if !e.spend(int(v.end-v.start) / workBytes) {
		return false
	}
	text := e.string(v)
	if t.min > 0 || t.max >= 0 {
		n := utf8.RuneCount(text)
		if n < t.min {
			return e.fail("want at least %s, but got %d", count(t.min, "character"), n)
		}
		if t.max >= 0 && n > t.max {
			return e.fail("want at most %s, but got %d", count(t.max, "character"), n)
		}
	}
	if t.pattern == nil {
		return true
	}
	ok, certain := e.match(t.pattern, text)
	if certain && !ok {
		return e.fail("want text that matches %s, but got %s", shown(t.pattern.source), shown(e.of(v)))
	}
	return ok
}

// match runs a pattern. certain is false if it exceeded the budget, which ends the evaluation, as neither result is
// known.
func (e *evaluator) match(p *pattern, text []byte) (ok, certain bool) {
	if len(text) > maxMatchBytes {
		return e.stop("is too long to be matched with %s", shown(p.source)), false
	}
	if !e.spend(matchWork + len(text)/workBytes) {
		return false, false
	}
	ok, work, err := p.match(text, e.work)
	if err != nil {
		return e.stop("takes too many steps to match with %s", shown(p.source)), false
	}
	return ok, e.spend(work)
}

// matchWork is the minimum cost of a match, in steps.
const matchWork = 16

func (e *evaluator) checkNumber(n *numberRule, v value) bool {
	raw := e.of(v)
	if !e.spend(len(raw) / workBytes) {
		return false
	}
	x := decimalOf(raw)
	switch {
	case n.min != nil && x.cmp(n.min.number) < 0:
		return e.fail("want at least %s, but got %s", n.min.text, shown(raw))
	case n.max != nil && x.cmp(n.max.number) > 0:
		return e.fail("want at most %s, but got %s", n.max.text, shown(raw))
	case n.over != nil && x.cmp(n.over.number) <= 0:
		return e.fail("want more than %s, but got %s", n.over.text, shown(raw))
	case n.under != nil && x.cmp(n.under.number) >= 0:
		return e.fail("want less than %s, but got %s", n.under.text, shown(raw))
	}
	return n.multiple == nil || e.checkMultiple(n.multiple, raw)
}

func (e *evaluator) checkMultiple(m *bound, raw []byte) bool {
	if len(raw) > maxMultipleDigits {
		return e.fail("has too many digits")
	}
	if !e.spend(matchWork + len(raw)) {
		return false
	}
	if !decimalOf(raw).isMultiple(m.number) {
		return e.fail("want a multiple of %s, but got %s", m.text, shown(raw))
	}
	return true
}
