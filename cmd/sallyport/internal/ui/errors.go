// Package ui speaks with the operator: it formats errors with a hint, numbers with their nouns and escaped untrusted
// text, and prompts on the controlling terminal of this process.
//
//	sallyport: unknown command "lits"
//	hint: did you mean sallyport list?
//
// Text of plugins, files and clients reaches a terminal and the log. It must not move the cursor, change the direction
// of writing or begin a line that looks like the program's own.
//
// Decisions about grants are never read from standard input, a flag or a variable: those are chosen by the process that
// starts this one, which may be a model's shell tool.
//
//	standard input ──✕
//	/dev/tty, CONIN$ ──▶ Terminal.Confirm ──▶ yes or no
package ui

import (
	"errors"
	"fmt"
	"io"
)

// hintError is an error with a hint to the operator.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// Hint attaches a line to err that tells the operator the next step.
func Hint(err error, format string, args ...any) error {
	return &hintError{err: err, hint: fmt.Sprintf(format, args...)}
}

// NextStep returns the hint of an error, "" if it has none.
func NextStep(err error) string {
	var h *hintError
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// Complain prints an error, and its hint if it has one, escaped.
func Complain(w io.Writer, err error) {
	fmt.Fprintf(w, "sallyport: %s\n", Lines(err.Error()))
	if next := NextStep(err); next != "" {
		fmt.Fprintf(w, "hint: %s\n", Lines(next))
	}
}
