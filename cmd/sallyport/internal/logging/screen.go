package logging

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// maxWaiting is the limit of buffered output in bytes.
const maxWaiting = 256 << 10

// Screen writes to the terminal of the user who started the program. After Detach writes do not block: output over the
// buffer's limit is dropped and counted. It is safe for concurrent use.
type Screen struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	dropped int // writes since the last one that was kept
	asJSON  bool
	wake    chan struct{} // buffered notification of output; nil before Detach
	closed  bool
	ended   chan struct{}   // closed when all output is written after Close
	flushed []chan struct{} // each closed when the output before it is written
}

// NewScreen returns a screen that writes to out and blocks until Detach.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// Detach makes writes non-blocking for the rest of the process. asJSON is the format of the line that counts dropped
// writes.
func (s *Screen) Detach(asJSON bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake != nil {
		return
	}
	s.asJSON, s.wake, s.ended = asJSON, make(chan struct{}, 1), make(chan struct{})
	go s.show()
}

// Write takes one or more lines, which are shown whole or dropped.
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

// tell appends the count of dropped writes at their place. The caller holds the lock.
func (s *Screen) tell() {
	if s.dropped == 0 {
		return
	}
	text := fmt.Sprintf("%d lines are missing here: standard error was not read", s.dropped)
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

// show writes buffered output until the screen is closed. Errors of out are ignored: there is no place to report them.
func (s *Screen) show() {
	defer close(s.ended)
	for range s.wake {
		s.mu.Lock()
		text, flushed, closed := s.waiting, s.flushed, s.closed
		s.waiting, s.flushed = nil, nil
		s.mu.Unlock()
		_, _ = s.out.Write(text)
		for _, done := range flushed {
			close(done)
		}
		if closed {
			return
		}
	}
}

// Flush waits at most patience for the output so far to be written, so that output elsewhere comes after it.
func (s *Screen) Flush(patience time.Duration) {
	s.mu.Lock()
	if s.wake == nil || s.closed {
		s.mu.Unlock()
		return
	}
	done := make(chan struct{})
	s.tell()
	s.flushed = append(s.flushed, done)
	s.alarm()
	s.mu.Unlock()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

// Close waits at most patience for buffered output to be written. Later writes are not shown.
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
