package jsonschema

import "fmt"

// spend takes n steps off the budget. It returns false if the budget is exhausted.
func (e *evaluator) spend(n int) bool {
	if e.work -= n; e.work < 0 {
		return e.stopAll("takes too many steps to check against the schema")
	}
	return e.stopped == nil
}

// stop ends the evaluation with an error at the current value. It returns false: all later checks fail, and
// Validate returns this error regardless of their outcome.
func (e *evaluator) stop(format string, args ...any) bool {
	if e.stopped == nil {
		e.stopped = &ValidationError{Pointer: e.pointer(), Message: fmt.Sprintf(format, args...)}
	}
	return false
}

// stopAll is stop with an error for the whole value.
func (e *evaluator) stopAll(why string) bool {
	if e.stopped == nil {
		e.stopped = &ValidationError{Message: why}
	}
	return false
}
