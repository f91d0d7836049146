package wasi

import (
	"context"
	"io"
	"sync"
)

// minPipe keeps a pipe useful: an unbuffered one could never be found ready by a poll.
const minPipe = 512

// Pipe is a bounded in-memory stream between a host goroutine and a guest's descriptor 0, 1 or 2.
// Unlike another io.Reader or io.Writer it can be waited for: a guest may use it without blocking
// (EAGAIN), poll it, and be cancelled while it waits. All methods may be called at once.
type Pipe struct {
	mu       sync.Mutex
	buf      []byte        // what was written and not yet read
	max      int           // most bytes in buf
	err      error         // what Read answers when buf is empty; nil while the writer lives
	noReader bool          // CloseRead was called
	changed  chan struct{} // closed and replaced at every change
}

var _ io.ReadWriteCloser = (*Pipe)(nil)

// NewPipe returns a pipe that holds at most size bytes, 512 at least.
func NewPipe(size int) *Pipe {
	return &Pipe{max: max(size, minPipe), changed: make(chan struct{})}
}

// Read waits for bytes. After Close and the last byte it returns io.EOF.
func (p *Pipe) Read(b []byte) (int, error) { return p.read(context.Background(), b) }

// Write waits until all of b is in the pipe. After Close or CloseRead it returns io.ErrClosedPipe.
func (p *Pipe) Write(b []byte) (int, error) { return p.write(context.Background(), b) }

// Close ends the writing side: the reader gets what is left, then io.EOF. It may be called again.
func (p *Pipe) Close() error {
	p.closeWith(io.EOF)
	return nil
}

// CloseRead ends the reading side: writers get io.ErrClosedPipe. It may be called again.
func (p *Pipe) CloseRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noReader, p.buf = true, nil
	if p.err == nil {
		p.err = io.ErrClosedPipe
	}
	p.signal()
}

func (p *Pipe) closeWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.signal()
}

// signal wakes everyone who waits; p.mu is held.
func (p *Pipe) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Pipe) read(ctx context.Context, b []byte) (int, error) {
	for {
		n, wait, err := p.tryRead(b)
		if wait == nil {
			return n, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (p *Pipe) write(ctx context.Context, b []byte) (int, error) {
	done := 0
	for {
		n, wait, err := p.tryWrite(b[done:])
		if done += n; wait == nil {
			return done, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return done, ctx.Err()
		}
	}
}

// tryRead reads what is there. A channel says that nothing is, and closes when that may change.
func (p *Pipe) tryRead(b []byte) (n int, wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(b) == 0 {
		return 0, nil, nil
	}
	if len(p.buf) == 0 {
		if p.err == nil {
			return 0, p.changed, nil
		}
		return 0, nil, p.err
	}
	n = copy(b, p.buf)
	if p.buf = p.buf[n:]; len(p.buf) == 0 {
		p.buf = nil
	}
	p.signal()
	return n, nil, nil
}

// tryWrite writes what fits. A channel says that some is left, and closes when that may change.
func (p *Pipe) tryWrite(b []byte) (n int, wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil || p.noReader {
		return 0, nil, io.ErrClosedPipe
	}
	n = min(len(b), p.max-len(p.buf))
	if n > 0 {
		p.buf = append(p.buf, b[:n]...)
		p.signal()
	}
	if n < len(b) {
		wait = p.changed
	}
	return n, wait, nil
}

// readable says whether a read would not wait, how many bytes there are, and whether the writer is
// gone; changed closes when that may change.
func (p *Pipe) readable() (r readiness, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.err != nil
	return readiness{ready: ended || len(p.buf) > 0, size: len(p.buf), hangup: ended}, p.changed
}

// writable is readable for the other side.
func (p *Pipe) writable() (r readiness, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.err != nil || p.noReader
	room := p.max - len(p.buf)
	return readiness{ready: ended || room > 0, size: room, hangup: ended}, p.changed
}

// readiness is what a poll learns about a stream.
type readiness struct {
	ready, hangup bool
	size          int
}
