package jsonschema

import "fmt"

// budget limits the work of one validation.
type budget struct {
	depth   int              // nested rules being checked
	work    int              // remaining steps
	stopped *ValidationError // reason of an early end
}

// spend takes n steps off the budget. It returns false if the budget is exhausted.
func (b *budget) spend(n int) bool {
	if b.work -= n; b.work < 0 {
		return b.stopAll("takes too many steps to check against the schema")
	}
	return b.stopped == nil
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
func (b *budget) stopAll(why string) bool {
	if b.stopped == nil {
		b.stopped = &ValidationError{Message: why}
	}
	return false
}
