package jsonschema

func (e *evaluator) checkArray(a *arrayRule, v value, m marks) bool {
	if n := int(v.n); n < a.min {
		return e.fail("want at least %s, but got %d", count(a.min, "item"), n)
	} else if a.max >= 0 && n > a.max {
		return e.fail("want at most %s, but got %d", count(a.max, "item"), n)
	}
	return e.checkItems(a, v, m) && e.checkContains(a, v, m) && (!a.unique || e.checkUnique(v))
}

func (e *evaluator) checkItems(a *arrayRule, v value, m marks) bool {
	for i, item := range e.members(v) {
		r := a.rest
		if i < len(a.prefix) {
			r = a.prefix[i]
		}
		if r == nil {
			break
		}
		if !e.spend(1) || !e.item(r, item, i) {
			return false
		}
		m.set(i)
	}
	return true
}

func (e *evaluator) checkContains(a *arrayRule, v value, m marks) bool {
	if a.contains == nil {
		return true
	}
	found := 0
	for i, item := range e.members(v) {
		if !e.silentItem(a.contains, item, i) {
			if e.stopped != nil {
				return false
			}
			continue
		}
		if found++; a.containsMarks {
			m.set(i)
		}
	}
	if found < a.minHas {
		return e.fail("want at least %s of the kind that it must contain, but got %d", count(a.minHas, "item"), found)
	}
	if a.maxHas >= 0 && found > a.maxHas {
		return e.fail("want at most %s of the kind that it may contain, but got %d", count(a.maxHas, "item"), found)
	}
	return true
}

func (e *evaluator) silentItem(r *rule, item value, i int) bool {
	before := e.quiet
	e.quiet = true
	ok := e.item(r, item, i)
	e.quiet = before
	return ok
}

// checkUnique compares the items by their appendKey form.
func (e *evaluator) checkUnique(v value) bool {
	if v.n < 2 {
		return true
	}
	if !e.spend(int(v.n) + keyWork(v)) {
		return false
	}
	first := make(map[string]int, v.n)
	var key []byte
	for i, item := range e.members(v) {
		key = e.appendKey(key[:0], item)
		if j, again := first[string(key)]; again {
			return e.fail("want items that differ, but items %d and %d are equal", j, i)
		}
		first[string(key)] = i
	}
	return true
}
