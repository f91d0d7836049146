package runtime

// State is how long an instance lives.
type State string

// The states. The zero State is StateCall.
const (
	// StateCall gives each call a clean instance, a copy of one that has started.
	StateCall State = "call"
	// StateFresh gives each call an instance of its own that starts within the call: what a copy has in common with
	// other copies, such as the seed of a generator, is its own too.
	StateFresh State = "fresh"
	// StateSession keeps one instance for each session, which serves one call after the other.
	StateSession State = "session"
	// StatePlugin keeps one instance for all calls, which serves one after the other.
	StatePlugin State = "plugin"
)

// Known tells whether the state exists.
func (s State) Known() bool {
	switch s {
	case "", StateCall, StateFresh, StateSession, StatePlugin:
		return true
	}
	return false
}
