package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Validate checks a value against the schema. The error is a *ValidationError: mostly the first violation in
// document order, with those of other members, or else the value is not JSON, too large, or exceeds the work limit.
func (s *Schema) Validate(raw json.RawMessage) error {
	if err := jsonraw.Valid(raw); err != nil {
		return &ValidationError{Message: fmt.Sprintf("is not valid: %v", err)}
	}
	e, _ := s.idle.Get().(*evaluator)
	if e == nil {
		e = &evaluator{}
	}
	defer s.release(e)
	return e.run(s, raw)
}

// evaluator runs rules over one indexed value, within a budget. It has one method for each keyword or group of
// keywords: they call each other for subschemas, and all need the position, the budget and the violations.
type evaluator struct {
	index
	budget
	path    []value     // path of members to the current value
	scope   []*resource // dynamic scope, tracked only if the schema uses it
	dynamic bool
	quiet   bool // no messages
	err     *ValidationError
	rank    rank               // of err
	faults  []*ValidationError // violations of object members before err
	alone   bool               // stop at the first violation
}

// keptValues is the maximum size of an index kept for reuse.
const keptValues = 4096

// release keeps e for reuse unless it has grown large.
func (s *Schema) release(e *evaluator) {
	if cap(e.values) <= keptValues && cap(e.open) <= keptValues {
		e.raw, e.err, e.stopped, e.faults = nil, nil, nil, nil
		s.idle.Put(e)
	}
}

func (e *evaluator) run(s *Schema, raw []byte) error {
	root, err := e.build(raw)
	if err != nil {
		return &ValidationError{Message: "has " + err.Error()}
	}
	e.path, e.scope, e.dynamic, e.quiet, e.err = e.path[:0], e.scope[:0], s.dynamic, false, nil
	e.faults, e.alone = nil, false
	e.budget = budget{work: maxWork}
	ok := e.check(s.root, root, nil)
	switch {
	case e.stopped != nil:
		return e.stopped
	case !ok && e.err == nil:
		return &ValidationError{Message: "does not fit the schema"}
	case !ok:
		return e.all()
	}
	return nil
}

// maxFaults is the maximum number of reported violations.
const maxFaults = 8

// goesOn records the violation of a member and reports whether to check the remaining members.
func (e *evaluator) goesOn() bool {
	if e.quiet || e.alone || e.stopped != nil || e.err == nil {
		return false
	}
	e.note(e.err)
	return len(e.faults) < maxFaults
}

// note records a violation once, as each enclosing object reports it again.
func (e *evaluator) note(fault *ValidationError) {
	if !slices.Contains(e.faults, fault) && len(e.faults) < maxFaults {
		e.faults = append(e.faults, fault)
	}
}

// all returns the first violation with the others.
func (e *evaluator) all() error {
	e.note(e.err)
	first := *e.faults[0]
	first.Also = append([]*ValidationError(nil), e.faults[1:]...)
	return &first
}

// below checks a member against a rule.
func (e *evaluator) below(r *rule, m value) bool {
	e.path = append(e.path, m)
	ok := e.check(r, m, nil)
	e.path = e.path[:len(e.path)-1]
	return ok
}

// item checks element i against a rule.
func (e *evaluator) item(r *rule, m value, i int) bool {
	m.keyStart, m.keyEnd = 0, uint32(i)
	return e.below(r, m)
}

// silently is check without messages, for rules that may fail without failing the whole.
func (e *evaluator) silently(r *rule, v value, m marks) bool {
	before := e.quiet
	e.quiet = true
	ok := e.check(r, v, m)
	e.quiet = before
	return ok
}

// check reports whether v satisfies r, and records evaluated members in m. After a failure m is undefined.
func (e *evaluator) check(r *rule, v value, m marks) bool {
	if r.never {
		return e.fail("is not allowed")
	}
	if e.depth++; e.depth > maxDescent {
		return e.stopAll("nests too deep, or the schema refers to itself without end")
	}
	if e.dynamic && r.resource != nil {
		e.scope = append(e.scope, r.resource)
	}
	ok := e.spend(1) && e.checkSelf(r, v) && e.checkAll(r, v, m)
	if e.dynamic && r.resource != nil {
		e.scope = e.scope[:len(e.scope)-1]
	}
	e.depth--
	return ok
}

// checkSelf applies the keywords for the value itself.
func (e *evaluator) checkSelf(r *rule, v value) bool {
	if r.typed && !e.hasType(r.types, v) {
		return e.failAs(rankType, "want %v, but got %v", r.types, v.kind)
	}
	if r.constant != nil && !e.isOneOf(r.constant, v) {
		return e.failAs(rankConst, "want %s, but got %s", r.constant.text, shown(e.of(v)))
	}
	if r.options != nil && !e.isOneOf(r.options, v) {
		return e.failAs(rankConst, "want %s, but got %s", r.options.text, shown(e.of(v)))
	}
	switch {
	case v.kind == kindString && r.text != nil:
		return e.checkText(r.text, v)
	case v.kind == kindNumber && r.number != nil:
		return e.checkNumber(r.number, v)
	}
	return true
}

func (e *evaluator) hasType(types kind, v value) bool {
	if types&v.kind != 0 {
		return true
	}
	return v.kind == kindNumber && types&kindInteger != 0 && e.isInteger(v)
}

func (e *evaluator) isInteger(v value) bool {
	raw := e.of(v)
	for _, c := range raw {
		if c == '.' || c|' ' == 'e' {
			return e.spend(len(raw)/workBytes) && decimalOf(raw).isInteger()
		}
	}
	return true
}

const (
	// workBytes is the number of text bytes per step, and keyBytes that of an array or object in a comparison.
	workBytes = 32
	keyBytes  = 4
	// quickWork is the number of members per step if they are only counted.
	quickWork = 8
)

// keyWork returns the cost of appendKey in steps.
func keyWork(v value) int {
	if v.kind == kindArray || v.kind == kindObject {
		return int(v.end-v.start) / keyBytes
	}
	return int(v.end-v.start) / workBytes
}

func (e *evaluator) isOneOf(o *options, v value) bool {
	if !e.spend(keyWork(v)) {
		return false
	}
	var room [128]byte
	_, ok := o.keys[string(e.appendKey(room[:0], v))]
	return ok
}

// checkAll applies the keywords for members and subschemas. $ref and the like come first; in the drafts in which
// $ref excludes other keywords, those are nil.
func (e *evaluator) checkAll(r *rule, v value, outer marks) bool {
	m := outer
	if r.leftFields != nil && v.kind == kindObject || r.leftItems != nil && v.kind == kindArray {
		m = e.newMarks(v)
	}
	if !e.checkRefs(r, v, m) {
		return false
	}
	if v.kind == kindObject && r.object != nil && !e.checkObject(r.object, v, m) ||
		v.kind == kindArray && r.array != nil && !e.checkArray(r.array, v, m) {
		return false
	}
	if r.combined != nil && !e.checkCombined(r.combined, v, m) {
		return false
	}
	return e.checkLeft(r, v, m, outer)
}

func (e *evaluator) checkRefs(r *rule, v value, m marks) bool {
	if r.ref != nil && !e.check(r.ref, v, m) {
		return false
	}
	if r.scoped == nil {
		return true
	}
	if target := r.scoped.recursive; target != nil && !e.check(e.resolveRecursive(target), v, m) {
		return false
	}
	return r.scoped.dynamic == nil || e.check(e.resolveDynamic(r.scoped.dynamic), v, m)
}

// resolveRecursive returns the target of a $recursiveRef. If target is the root of a resource with
// $recursiveAnchor, it is the outermost such resource.
func (e *evaluator) resolveRecursive(target *rule) *rule {
	if target.resource == nil || !target.resource.recursive || target.resource.root != target {
		return target
	}
	for i, r := range e.scope {
		if r.recursive {
			e.spend(i / quickWork)
			return r.root
		}
	}
	e.spend(len(e.scope) / quickWork)
	return target
}

// resolveDynamic returns the target of a $dynamicRef. If target has the $dynamicAnchor, it is the one in the
// outermost resource with that anchor.
func (e *evaluator) resolveDynamic(d *dynamicRef) *rule {
	if d.anchor == "" || d.target.anchor != d.anchor {
		return d.target
	}
	for i, r := range e.scope {
		if target := r.anchors[d.anchor]; target != nil {
			e.spend(i)
			return target
		}
	}
	e.spend(len(e.scope))
	return d.target
}

// checkLeft checks the members that no other rule has evaluated.
func (e *evaluator) checkLeft(r *rule, v value, m, outer marks) bool {
	left := r.leftFields
	if v.kind == kindArray {
		left = r.leftItems
	} else if v.kind != kindObject {
		return true
	}
	if left == nil {
		return true
	}
	if !e.spend(int(v.n) / quickWork) {
		return false
	}
	for i, member := range e.members(v) {
		if m.has(i) {
			continue
		}
		if v.kind == kindArray && !e.item(left, member, i) || v.kind == kindObject && !e.field(left, member) {
			return false
		}
	}
	outer.setAll(int(v.n))
	return true
}
