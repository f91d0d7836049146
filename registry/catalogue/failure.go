package catalogue

import (
	"errors"
	"fmt"
)

// ErrGone is in the chain of the error of a call to an entry that its plugin no longer publishes.
var ErrGone = errors.New("no longer published")

// Failure is the error of a call that a plugin did not answer. The cause is one of runtime's
// *EndError and *GuestError, found by errors.As.
type Failure struct {
	Plugin  string   // the plugin's name
	CallID  string   // as in the log
	Stderr  string   // the end of what the guest wrote to its standard error, valid UTF-8
	Denials []string // what it was refused in this call, one sentence each
	Err     error
}

// Error is the cause with the plugin's name before it.
func (e *Failure) Error() string { return fmt.Sprintf("plugin %q: %v", e.Plugin, e.Err) }

// Unwrap returns the cause.
func (e *Failure) Unwrap() error { return e.Err }
