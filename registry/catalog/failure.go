package catalog

import (
	"errors"
	"fmt"
)

// ErrGone is wrapped by the error of a call to an entry that its plugin no longer publishes.
var ErrGone = errors.New("no longer published")

// Failure is the error of a call that a plugin did not answer. It wraps a *runtime.EndError or *runtime.GuestError.
type Failure struct {
	Plugin  string   // the plugin's name
	CallID  string   // as in the log
	Stderr  string   // the end of the guest's standard error, valid UTF-8
	Denials []string // denials in this call, one sentence each
	Err     error
}

// Error returns the cause, prefixed with the plugin's name.
func (e *Failure) Error() string { return fmt.Sprintf("plugin %q: %v", e.Plugin, e.Err) }

// Unwrap returns the cause.
func (e *Failure) Unwrap() error { return e.Err }
