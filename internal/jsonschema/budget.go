package jsonschema

import "fmt"

// spend takes n steps off the budget. It returns false if the evaluation is to end.
func (e *evaluator) spend(n int) bool {
	if e.work -= n; e.work < 0 {
		return e.stopAll("takes too many steps to check against the schema")
	}
	return e.stopped == nil
}

// stop ends the evaluation for a reason that lies in the value at hand. It returns false: from
// here on every check fails at once, and the reason is what Validate returns, whatever the rules
// make of it.
func (e *evaluator) stop(format string, args ...any) bool {
	if e.stopped == nil {
		e.stopped = &ValidationError{Pointer: e.pointer(), Message: fmt.Sprintf(format, args...)}
	}
	return false
}

// stopAll is stop for a reason that lies in the whole.
func (e *evaluator) stopAll(why string) bool {
	if e.stopped == nil {
		e.stopped = &ValidationError{Message: why}
	}
	return false
}
