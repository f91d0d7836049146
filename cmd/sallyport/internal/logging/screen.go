package logging

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// maxWaiting bounds what waits to be shown, in bytes.
const maxWaiting = 256 << 10

// Screen is where a program talks to the person who started it. Once it is detached nobody waits for a reader: what is
// not read in time is dropped, and counted. It is safe for concurrent use.
type Screen struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	dropped int // writes, since the last one that was kept
	asJSON  bool
	wake    chan struct{} // one token: something waits; nil before Detach
	closed  bool
	ended   chan struct{} // closed when all is written after Close
}

// NewScreen returns a screen that writes to out, and whose writers wait for it.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// Detach has nobody wait any more, as long as the program runs. asJSON is the form of the lines.
func (s *Screen) Detach(asJSON bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake != nil {
		return
	}
	s.asJSON, s.wake, s.ended = asJSON, make(chan struct{}, 1), make(chan struct{})
	go s.show()
}

// Write takes one line or more, which are shown whole or not at all.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wake == nil:
		return s.out.Write(p)
	case len(s.waiting)+len(p) > maxWaiting:
		s.dropped++
		return len(p), nil
	}
	s.tell()
	s.waiting = append(s.waiting, p...)
	s.alarm()
	return len(p), nil
}

// tell says what was dropped, in its place. Locked by the caller.
func (s *Screen) tell() {
	if s.dropped == 0 {
		return
	}
	text := fmt.Sprintf("%d lines are missing here, since nobody read them", s.dropped)
	if s.asJSON {
		s.waiting = fmt.Appendf(s.waiting, `{"@level":"warn","@message":%q}`+"\n", text)
	} else {
		s.waiting = append(s.waiting, text+"\n"...)
	}
	s.dropped = 0
}

func (s *Screen) alarm() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// show writes what waits, until the screen is closed. An error of out is nobody's to hear of.
func (s *Screen) show() {
	defer close(s.ended)
	for range s.wake {
		s.mu.Lock()
		text, closed := s.waiting, s.closed
		s.waiting = nil
		s.mu.Unlock()
		_, _ = s.out.Write(text)
		if closed {
			return
		}
	}
}

// Close gives what waits so much time to be read. Nothing is written afterwards.
func (s *Screen) Close(patience time.Duration) {
	s.mu.Lock()
	detached := s.wake != nil
	if detached && !s.closed {
		s.tell()
		s.closed = true
		s.alarm()
	}
	s.mu.Unlock()
	if !detached {
		return
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
	}
}
