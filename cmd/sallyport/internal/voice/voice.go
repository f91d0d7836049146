// Package voice is how the program speaks to people: errors with a line that says what to do, numbers with their nouns,
// and the words of strangers made harmless.
//
//	sallyport: unknown command "lits"
//	hint: did you mean sallyport list?
//
// What plugins, files and clients say ends up on a terminal and in the log. There nothing of it may move the cursor, turn
// the direction of writing or begin a line that looks like the program's own.
package voice

import (
	"errors"
	"fmt"
	"io"
)

// hintError says what to type next.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// Hint gives err a line that says what to do.
func Hint(err error, format string, args ...any) error {
	return &hintError{err: err, hint: fmt.Sprintf(format, args...)}
}

// Complain prints an error, and its hint if it has one.
func Complain(w io.Writer, err error) {
	fmt.Fprintf(w, "sallyport: %s\n", Lines(err.Error()))
	var h *hintError
	if errors.As(err, &h) {
		fmt.Fprintf(w, "hint: %s\n", Lines(h.hint))
	}
}
