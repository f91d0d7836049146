package runtime

import (
	"encoding/json"
	"fmt"
)

// Kind classifies in one word why a call or an ask failed. Clients see it.
type Kind string

// The kinds of a denied or failed ask (AskError), and of the end of a call (EndError).
const (
	KindDenied      Kind = "denied"      // no grant allows it
	KindInvalid     Kind = "invalid"     // the request is malformed
	KindUnsupported Kind = "unsupported" // the host or the client does not support it
	KindUnavailable Kind = "unavailable" // the peer is not available
	KindTimeout     Kind = "timeout"     // the operation timed out
	KindLimit       Kind = "limit"       // a limit was reached
	KindConflict    Kind = "conflict"    // a concurrent change

	KindInput     Kind = "input"     // the call waits for input from the client
	KindTrap      Kind = "trap"      // the guest trapped
	KindExit      Kind = "exit"      // the guest exited
	KindDeadline  Kind = "deadline"  // deadline exceeded
	KindCancelled Kind = "cancelled" // cancelled by the caller
	KindGuest     Kind = "guest"     // the guest's result violates the contract
	KindInternal  Kind = "internal"  // a fault of the host
	KindUnknown   Kind = "unknown"   // whether its effects took place is not known
)

// AskError is the response to a guest's request that was denied or failed.
type AskError struct {
	Kind    Kind
	Message string // one sentence, lower case, no full stop
	// Hint is the command or configuration line that would allow the request; it may be empty.
	Hint string
	// RetryAfterMs is the time to wait before a retry, in milliseconds; 0 means unspecified.
	RetryAfterMs int64
	// Requires is the MCP ClientCapabilities object that the client would have to declare; nil if capabilities are not
	// the reason.
	Requires json.RawMessage
}

// AskErrorf returns an AskError with a formatted message.
func AskErrorf(kind Kind, format string, args ...any) *AskError {
	return &AskError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Error returns the kind and the message.
func (e *AskError) Error() string { return string(e.Kind) + ": " + e.Message }

// EndError describes the end of a call that returned no result.
type EndError struct {
	Kind    Kind
	Message string // one sentence, lower case, no full stop, fit for a client
	Code    uint32 // exit code, or the number that the guest returned
	Stack   string // the guest's stack trace, for the log only
	Err     error  // the cause; errors.Is finds context errors
	// Refused is the end of Message that says which memory the guest was refused, which may be why it ended.
	Refused string
}

// Error returns the kind and the message.
func (e *EndError) Error() string { return fmt.Sprintf("%s: %s", e.Kind, e.Message) }

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Err }

// GuestError is a JSON-RPC error returned by the guest, unchanged.
type GuestError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// Error returns the code and the message.
func (e *GuestError) Error() string { return fmt.Sprintf("guest error %d: %s", e.Code, e.Message) }
