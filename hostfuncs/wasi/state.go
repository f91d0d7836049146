package wasi

import (
	"context"
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Grain is the resolution of both clocks, as in browsers without isolation between pages. It is too coarse for timing
// attacks on caches, and fine enough for timers.
const Grain = 100 * time.Microsecond

// Host is implemented by a gate with a WASI state.
type Host interface {
	// WASI returns the state of this call, the same one each time.
	WASI() *State
}

// Options configure the WASI view of a guest in one call. The zero value has no arguments, no environment, no files
// and an empty standard input, and discards output.
type Options struct {
	// Args is the command line, beginning with the name of the program. Env contains "KEY=value". Entries with a NUL
	// byte are ignored.
	Args, Env []string

	// Tree is the folder "/". Nil is an empty, read-only one, or that of Mount.
	Tree Tree
	// Mount, if not nil, returns the Tree at its first use.
	Mount func() Tree

	// Climbed, if not nil, is called for each path of the guest that leaves the folder it starts in, wherever it
	// leads. The guest gets EPERM.
	Climbed func(folder, path string)

	// Stdin is descriptor 0; nil is at its end. A *Pipe, a bytes.Reader or a strings.Reader is read directly.
	// Other readers are read by a goroutine, started at first use. State.Close waits for it if Stdin is an io.Closer,
	// whose Close must end a pending Read.
	Stdin io.Reader

	// Stdout and Stderr are descriptors 1 and 2; nil discards. If a *Pipe is full, the guest waits or gets
	// EAGAIN. Other writers must not block for long.
	Stdout, Stderr io.Writer

	// Nonblock sets the NONBLOCK flag of descriptors 0 to 2 from the start, for a guest whose runtime waits for input
	// in poll_oneoff.
	Nonblock bool

	// Waits, if not nil, is called when a poll would wait, with the time to its first clock, and again when its call ends
	// meanwhile. It may end the guest.
	Waits func(next time.Duration)

	// Now returns the wall clock; nil is the real one. Monotonic returns nanoseconds and never goes back, not even
	// between calls; nil is the time since the start of this process. Both are truncated to Grain.
	Now       func() time.Time
	Monotonic func() int64

	// Reads, if not nil, is called by clock_time_get before it reads a clock, the wall clock or the other one. It may end
	// the guest.
	Reads func(wall bool)

	// Sleep returns the actual duration of a poll that waits for the given duration; nil leaves it unchanged.
	Sleep func(time.Duration) time.Duration

	// Random is the source of random_get; nil is crypto/rand.
	Random io.Reader
}

// State is the WASI state of one call: descriptors, streams, clocks. It serves one guest, which calls one function at
// a time.
type State struct {
	args, env []string
	tree      Tree        // nil before its first use
	mount     func() Tree // of the tree
	now       func() time.Time
	monotonic func() int64
	reads     func(wall bool)
	sleep     func(time.Duration) time.Duration
	random    io.Reader
	climbed   func(folder, path string)
	waits     func(next time.Duration)
	files     table
	streams   [3]stream
	ctx       context.Context // of the running function

	// The first descriptors are a part of the state: many a call uses none but these.
	first [4]descriptor
	slots [4]*descriptor
	root  preopen
}

// Tree returns the folder "/" of the guest.
func (s *State) Tree() Tree {
	if s.tree == nil {
		s.tree = s.mount()
	}
	return s.tree
}

// Context returns the context of the current or last host function; nil before the first. A Tree that waits must wait
// under it.
func (s *State) Context() context.Context { return s.ctx }

// NewState returns the state of one call. Close it after the call.
func NewState(o Options) *State {
	s := &State{
		args:      cStrings(o.Args),
		env:       cStrings(o.Env),
		tree:      o.Tree,
		mount:     o.Mount,
		now:       o.Now,
		monotonic: o.Monotonic,
		reads:     o.Reads,
		sleep:     o.Sleep,
		random:    o.Random,
		climbed:   o.Climbed,
		waits:     o.Waits,
	}
	s.setDefaults()
	s.streams = [3]stream{inputStream(o.Stdin), outputStream(orDiscard(o.Stdout)), outputStream(orDiscard(o.Stderr))}
	s.open(o.Nonblock)
	return s
}

// open opens the descriptors that a guest begins with.
func (s *State) open(nonblock bool) {
	var flags uint16
	if nonblock {
		flags = flagNonblock
	}
	s.files.slots = s.slots[:0]
	for i := range s.streams {
		s.first[i] = descriptor{stream: &s.streams[i], flags: flags, rights: rightsStream}
		s.files.add(&s.first[i])
	}
	s.root.state = s
	s.first[3] = descriptor{file: &s.root, dir: true, preopen: true, rights: rightsFolder, inherit: rightsAll}
	s.files.add(&s.first[3])
}

func (s *State) setDefaults() {
	if s.mount == nil {
		s.mount = func() Tree { return emptyTree{} }
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.monotonic == nil {
		s.monotonic = sinceStart
	}
	if s.waits == nil {
		s.waits = func(time.Duration) {}
	}
	if s.sleep == nil {
		s.sleep = func(d time.Duration) time.Duration { return d }
	}
	if s.random == nil {
		s.random = rand.Reader
	}
}

// Close closes all descriptors and stops reading standard input. The guest must not run after it. It may be called
// more than once.
func (s *State) Close() {
	s.files.closeAll()
	for i := range s.streams {
		s.streams[i].close()
	}
}

// stateFrom returns the state of the call of ctx, nil if there is none.
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

// cStrings returns the entries without a NUL byte, which can be passed as C strings.
func cStrings(in []string) []string {
	if !slices.ContainsFunc(in, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		return in
	}
	out := make([]string, 0, len(in))
	for _, s := range in {
		if !strings.ContainsRune(s, 0) {
			out = append(out, s)
		}
	}
	return out
}
