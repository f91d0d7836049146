// Package identity holds the identity of a caller, as a transport has authenticated it.
package identity

// Identity is an authenticated caller.
type Identity struct {
	// Principal identifies the caller, such as token:ci or oauth:https://id.example.com|4711. "" is anonymous.
	Principal string
	// Groups and Scopes are those that the caller's sign-in confirms, sorted.
	Groups, Scopes []string
}
