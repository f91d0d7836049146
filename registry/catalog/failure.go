package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// ErrGone is wrapped by the error of a call to an entry that its plugin no longer publishes.
var ErrGone = errors.New("no longer published")

// ScopeError is wrapped by the error of a call to an entry that the caller sees, and for which it lacks a scope.
type ScopeError struct{ Scopes []string } // all that the call needs

// Error names the scopes.
func (e *ScopeError) Error() string {
	return "the caller lacks a scope: the call needs " + ScopeNames(e.Scopes)
}

// ScopeNames returns scopes for messages: the scope a, or the scopes a, b.
func ScopeNames(scopes []string) string {
	word := "the scopes "
	if len(scopes) == 1 {
		word = "the scope "
	}
	return word + strings.Join(scopes, ", ")
}

// LacksScope returns the error of a call to an entry, as described by Request.What, that needs scopes.
func LacksScope(what string, scopes []string) error {
	return &runtime.EndError{
		Kind:    runtime.KindDenied,
		Message: fmt.Sprintf("%s needs %s, which the caller lacks, or some of them: sign in for all; sallyport can PRINCIPAL TOOL shows the rule", what, ScopeNames(scopes)),
		Err:     &ScopeError{Scopes: scopes},
	}
}

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
