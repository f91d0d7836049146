package runtime

import (
	"io"
	"time"
)

// CommandLine is the command line and the environment of a guest that is a program.
type CommandLine struct {
	Args []string // with the program's name first; an empty name is that of the plugin
	Env  []string // NAME=VALUE
	// Secrets are the variables with the placeholder of a secret, and the name of each secret.
	Secrets map[string]string
	// Clock, if not nil, is called by a host function of the guest before each reading of its monotonic clock. It may call
	// Suspend.
	Clock func()
	// Traced drops the first line of standard error: it ends a trace that the guest began before the call.
	Traced bool
}

// Input is the standard input of a guest that is a server.
type Input interface {
	// Send passes bytes to the guest, and reports whether there was room for them.
	Send(b []byte) bool
	// Rest removes and returns the bytes that the guest has not read.
	Rest() []byte
}

// Conversation is the standard input and output of a guest that is a server. Its functions are called by host functions
// of the guest, on the goroutine of the call.
type Conversation struct {
	Stdout io.Writer
	Stderr io.Writer // nil if standard error goes to the log only
	// Unread limits the bytes that the guest was sent and has not read.
	Unread int
	// Polls makes the streams non-blocking, for a guest that waits for them in poll_oneoff. Waits is called when it
	// would wait there, with the time to the next of its timers (math.MaxInt64 without one), and again when its call
	// ends meanwhile. It may call Suspend.
	Polls bool
	Waits func(next time.Duration)
	// Reads, if not nil, is called when the guest reads a clock, before the reading. wall tells the time of day from the
	// monotonic clock. It may call Suspend.
	Reads func(wall bool)
}
