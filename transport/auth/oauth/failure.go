package oauth

import (
	"errors"
	"fmt"
)

// The error codes of RFC 6750 and of an outage.
const (
	InvalidToken      = "invalid_token"
	InsufficientScope = "insufficient_scope"
	// Unavailable means that the token could be neither confirmed nor refuted, as its issuer did not answer.
	Unavailable = "temporarily_unavailable"
)

// Failure is the refusal of a token. Its text contains nothing of the token.
type Failure struct {
	Code   string
	Reason string
	Scopes []string // of InsufficientScope: all that the caller needs at once
}

// Error returns the reason.
func (f *Failure) Error() string { return f.Reason }

// invalid returns the refusal of a token that will never be accepted.
func invalid(format string, args ...any) error {
	return &Failure{Code: InvalidToken, Reason: "the access token " + fmt.Sprintf(format, args...)}
}

// unavailable returns the refusal of a token whose issuer did not answer.
func unavailable(format string, args ...any) error {
	return &Failure{Code: Unavailable, Reason: fmt.Sprintf(format, args...)}
}

// FailureOf returns the failure in err's chain, or else one with a text that reveals no cause.
func FailureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Code: InvalidToken, Reason: "the access token is not valid"} // the text of err can repeat the token
}
