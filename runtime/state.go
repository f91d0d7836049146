package runtime

// State is the lifetime of an instance.
type State string

// The states. The zero State means StateCall.
const (
	// StateCall gives each call a clean instance, copied from a started one.
	StateCall State = "call"
	// StateFresh gives each call a new instance that starts within the call. State that copies of an image share, such
	// as the seed of a generator, is then not shared either.
	StateFresh State = "fresh"
	// StateSession keeps one instance for each session, which serves one call at a time.
	StateSession State = "session"
	// StatePlugin keeps one instance for all calls, which serves one call at a time.
	StatePlugin State = "plugin"
)

// Known reports whether s is one of the states above or empty.
func (s State) Known() bool {
	switch s {
	case "", StateCall, StateFresh, StateSession, StatePlugin:
		return true
	}
	return false
}
