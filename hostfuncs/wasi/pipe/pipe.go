// Package pipe is a bounded in-memory stream that can be waited for together with other things.
//
//	writer ── Write ──▶ [ at most Size bytes ] ── TryRead ──▶ reader, or a channel to wait on
//
// An io.Pipe blocks whoever reads it. Here a reader or a writer may use what is there, be told when that has changed, and
// be cancelled while it waits: as a guest may do with its standard streams.
//
// This package is not promised to others; it may change with any version.
package pipe

import (
	"context"
	"io"
	"sync"
)

// minSize keeps a pipe useful: an unbuffered one could never be found ready by a poll.
const minSize = 512

// Pipe is a bounded in-memory stream. All methods may be called at once.
type Pipe struct {
	mu       sync.Mutex
	buf      []byte        // what was written and not yet read
	max      int           // most bytes in buf
	err      error         // what Read answers when buf is empty; nil while the writer lives
	noReader bool          // CloseRead was called
	changed  chan struct{} // closed and replaced at every change
}

var _ io.ReadWriteCloser = (*Pipe)(nil)

// New returns a pipe that holds at most size bytes, 512 at least.
func New(size int) *Pipe {
	return &Pipe{max: max(size, minSize), changed: make(chan struct{})}
}

// Read waits for bytes. After Close and the last byte it returns io.EOF.
func (p *Pipe) Read(b []byte) (int, error) { return p.ReadContext(context.Background(), b) }

// Write waits until all of b is in the pipe. After Close or CloseRead it returns io.ErrClosedPipe.
func (p *Pipe) Write(b []byte) (int, error) { return p.WriteContext(context.Background(), b) }

// Close ends the writing side: the reader gets what is left, then io.EOF. It may be called again.
func (p *Pipe) Close() error {
	p.CloseWithError(io.EOF)
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

// CloseWithError is Close, but the reader gets err in the place of io.EOF. The first close counts.
func (p *Pipe) CloseWithError(err error) {
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

// ReadContext is Read that also ends with ctx, whose error it then returns.
func (p *Pipe) ReadContext(ctx context.Context, b []byte) (int, error) {
	for {
		n, wait, err := p.TryRead(b)
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

// WriteContext is Write that also ends with ctx, whose error it then returns.
func (p *Pipe) WriteContext(ctx context.Context, b []byte) (int, error) {
	done := 0
	for {
		n, wait, err := p.TryWrite(b[done:])
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

// TryRead reads what is there. A channel says that nothing is, and closes when that may change.
func (p *Pipe) TryRead(b []byte) (n int, wait <-chan struct{}, err error) {
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

// TryWrite writes what fits. A channel says that some is left, and closes when that may change.
func (p *Pipe) TryWrite(b []byte) (n int, wait <-chan struct{}, err error) {
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

// Readiness says what one side could do without waiting.
type Readiness struct {
	Ready  bool // a read or write would not wait
	Size   int  // how many bytes there are to read, or how much room there is
	Hangup bool // the other side is gone
}

// Readable is what a reader could do; changed closes when that may change.
func (p *Pipe) Readable() (r Readiness, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.err != nil
	return Readiness{Ready: ended || len(p.buf) > 0, Size: len(p.buf), Hangup: ended}, p.changed
}

// Writable is what a writer could do; changed closes when that may change.
func (p *Pipe) Writable() (r Readiness, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.err != nil || p.noReader
	room := p.max - len(p.buf)
	return Readiness{Ready: ended || room > 0, Size: room, Hangup: ended}, p.changed
}
