package wasi

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Grain is the resolution of both clocks: what browsers give pages that share a machine with others.
// It is coarse so that a guest cannot time what other code does in caches, and fine enough for
// timers.
const Grain = 100 * time.Microsecond

// Host is a gate that has a WASI state; the functions find theirs by it.
type Host interface {
	// WASI returns the state of this call, the same one each time.
	WASI() *State
}

// Options describe what a guest sees in one call. The zero value is a guest with no arguments, no
// environment, no files, an empty standard input, and output that goes nowhere.
type Options struct {
	// Args is the command line, its first entry the program's name. Env holds "KEY=value". Entries
	// with a NUL byte are left out.
	Args, Env []string

	// Tree is the folder "/". Nil is an empty, read-only one.
	Tree Tree

	// Climbed is told of each path that a guest gives and that leaves the folder it starts in, whatever it
	// would lead to; nil tells nobody. The guest gets EPERM.
	Climbed func(folder, path string)

	// Stdin is descriptor 0; nil is at its end. A *pipe.Pipe, a bytes.Reader or a strings.Reader is read
	// directly. Any other is read by a goroutine from its first use on, and State.Close waits for
	// it if Stdin is an io.Closer, whose Close must end a Read.
	Stdin io.Reader

	// Stdout and Stderr are descriptors 1 and 2; nil swallows. A *pipe.Pipe may be full, and then the
	// guest waits or gets EAGAIN; any other writer must not block for long.
	Stdout, Stderr io.Writer

	// Nonblock sets the NONBLOCK flag of descriptors 0 to 2 from the start, for a guest whose
	// runtime parks its readers in poll_oneoff.
	Nonblock bool

	// Now is the wall clock, nil the real one. Monotonic counts nanoseconds and never goes back,
	// also from call to call; nil counts from the start of this process. Both are cut to Grain.
	Now       func() time.Time
	Monotonic func() int64

	// Sleep is asked how long a poll really waits that waits for so much of the clock; nil is as long.
	Sleep func(time.Duration) time.Duration

	// Random is the source of random_get; nil is crypto/rand.
	Random io.Reader
}

// State is what WASI keeps for one call: descriptors, streams, clocks. It serves one guest, which
// calls one function at a time.
type State struct {
	args, env []string
	tree      Tree
	now       func() time.Time
	monotonic func() int64
	sleep     func(time.Duration) time.Duration
	random    io.Reader
	climbed   func(folder, path string)
	files     table
	streams   [3]*stream
	ctx       context.Context // of the function that runs
}

// Tree is the folder "/" of the guest.
func (s *State) Tree() Tree { return s.tree }

// Context is that of the function which the guest calls, or called last; nil before the first. A Tree that has to wait
// for somebody waits under it.
func (s *State) Context() context.Context { return s.ctx }

// NewState makes the state of one call. Close it after the call.
func NewState(o Options) *State {
	s := &State{
		args:      cStrings(o.Args),
		env:       cStrings(o.Env),
		tree:      o.Tree,
		now:       o.Now,
		monotonic: o.Monotonic,
		sleep:     o.Sleep,
		random:    o.Random,
		climbed:   o.Climbed,
	}
	s.setDefaults()
	s.streams = [3]*stream{inputStream(o.Stdin), outputStream(orDiscard(o.Stdout)), outputStream(orDiscard(o.Stderr))}
	var flags uint16
	if o.Nonblock {
		flags = flagNonblock
	}
	for _, stream := range s.streams {
		s.files.add(&descriptor{stream: stream, flags: flags, rights: rightsStream})
	}
	s.files.add(&descriptor{file: &preopen{tree: s.tree}, dir: true, preopen: true, rights: rightsFolder, inherit: rightsAll})
	return s
}

func (s *State) setDefaults() {
	if s.tree == nil {
		s.tree = emptyTree{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.monotonic == nil {
		s.monotonic = sinceStart
	}
	if s.sleep == nil {
		s.sleep = func(d time.Duration) time.Duration { return d }
	}
	if s.random == nil {
		s.random = rand.Reader
	}
}

// Close closes every descriptor and ends the reading of standard input. The guest must not run any
// more. It may be called again.
func (s *State) Close() {
	s.files.closeAll()
	for _, stream := range s.streams {
		stream.close()
	}
}

// stateFrom finds the state of the call that ctx belongs to, nil if there is none.
func stateFrom(ctx context.Context) *State {
	h, ok := runtime.GateFrom(ctx).(Host)
	if !ok {
		return nil
	}
	return h.WASI()
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// cStrings keeps what can be passed as a C string.
func cStrings(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		if !strings.ContainsRune(s, 0) {
			out = append(out, s)
		}
	}
	return out
}
