package runtime

import (
	"encoding/json"
	"fmt"
)

// Kind says in one word why a call or an ask did not succeed. It is part of what clients see.
type Kind string

// The kinds of a refused or failed ask (AskError), and of a call's end (EndError).
const (
	KindDenied      Kind = "denied"      // no grant allows it
	KindInvalid     Kind = "invalid"     // the request is malformed
	KindUnsupported Kind = "unsupported" // this host or this client cannot do it
	KindUnavailable Kind = "unavailable" // the other side is not there
	KindTimeout     Kind = "timeout"     // it took too long
	KindLimit       Kind = "limit"       // a bound was reached
	KindConflict    Kind = "conflict"    // somebody else changed it

	KindInput     Kind = "input"     // the call waits for the client's answers
	KindTrap      Kind = "trap"      // the guest ran into a WebAssembly trap
	KindExit      Kind = "exit"      // the guest ended itself
	KindDeadline  Kind = "deadline"  // the call's time was over
	KindCancelled Kind = "cancelled" // the caller gave up
	KindGuest     Kind = "guest"     // the guest's answer breaks the contract
	KindInternal  Kind = "internal"  // the host itself failed
)

// AskError is the answer to a guest's request that was refused or failed.
type AskError struct {
	Kind    Kind
	Message string // one sentence, lower case, no full stop
	// Hint is what an operator can type or write to allow it; it may be empty.
	Hint string
	// RetryAfterMs is how long to wait before asking again, in milliseconds; 0 says nothing.
	RetryAfterMs int64
	// Requires is what the client would have to declare to be asked this, an MCP ClientCapabilities
	// object; nil if that is not the reason.
	Requires json.RawMessage
}

// AskErrorf makes an AskError of a kind and a message.
func AskErrorf(kind Kind, format string, args ...any) *AskError {
	return &AskError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Error is the kind and the message.
func (e *AskError) Error() string { return string(e.Kind) + ": " + e.Message }

// EndError says how a call ended when it gave no answer.
type EndError struct {
	Kind    Kind
	Message string // one sentence, lower case, no full stop, fit for a client
	Code    uint32 // exit code or the number the guest returned
	Stack   string // the guest's own stack, for the log only
	Err     error  // the cause; context errors answer to errors.Is
}

// Error is the kind and the message.
func (e *EndError) Error() string { return fmt.Sprintf("%s: %s", e.Kind, e.Message) }

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Err }

// GuestError is a JSON-RPC error that the guest answered with, unchanged.
type GuestError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// Error is the code and the message.
func (e *GuestError) Error() string { return fmt.Sprintf("guest error %d: %s", e.Code, e.Message) }
