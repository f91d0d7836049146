package wasi

import (
	"context"
	"io"
	"sync"
)

// minPipe is the minimum capacity in bytes: a poll would never find an unbuffered pipe ready.
const minPipe = 512

// Pipe is a bounded in-memory stream that can be polled at both ends:
//
//	writer ── Write ──▶ [ at most size bytes ] ── TryRead ──▶ reader, or a channel to wait on
//
// Unlike the ends of an io.Pipe, a reader or writer can move the bytes that are available without blocking, be
// notified of changes, and be cancelled while it waits, as a guest needs for its standard streams. Its methods are
// safe for concurrent use.
type Pipe struct {
	mu       sync.Mutex
	buf      []byte        // written and not yet read
	max      int           // maximum length of buf
	err      error         // result of Read when buf is empty; nil while the writing side is open
	noReader bool          // CloseRead was called
	changed  chan struct{} // closed and replaced at every change
}

var _ io.ReadWriteCloser = (*Pipe)(nil)

// NewPipe returns a pipe with a capacity of size bytes, at least 512.
func NewPipe(size int) *Pipe {
	return &Pipe{max: max(size, minPipe), changed: make(chan struct{})}
}

// Read waits for bytes. After Close and the last byte it returns io.EOF.
func (p *Pipe) Read(b []byte) (int, error) { return p.ReadContext(context.Background(), b) }

// Write waits until all of b is in the pipe. After Close or CloseRead it returns io.ErrClosedPipe.
func (p *Pipe) Write(b []byte) (int, error) { return p.WriteContext(context.Background(), b) }

// Close closes the writing side: the reader gets the remaining bytes, then io.EOF. It may be called more than once.
func (p *Pipe) Close() error {
	p.CloseWithError(io.EOF)
	return nil
}

// CloseRead closes the reading side: writers get io.ErrClosedPipe. It may be called more than once.
func (p *Pipe) CloseRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noReader, p.buf = true, nil
	if p.err == nil {
		p.err = io.ErrClosedPipe
	}
	p.signal()
}

// CloseWithError is Close with err in place of io.EOF. Only the first close has an effect.
func (p *Pipe) CloseWithError(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.signal()
}

// signal wakes all waiting goroutines; p.mu must be held.
func (p *Pipe) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// ReadContext is Read that returns the error of ctx when ctx is done.
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

// WriteContext is Write that returns the error of ctx when ctx is done.
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

// TryRead reads the available bytes. If there are none, it returns a channel that is closed at the next change.
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

// TryWrite writes the bytes that fit. If some are left, it returns a channel that is closed at the next change.
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

// Readiness describes the operations of one side that would not wait.
type Readiness struct {
	Ready  bool // a read or write would not wait
	Size   int  // bytes available to read, or free capacity
	Hangup bool // the other side is closed
}

// Readable returns the readiness of the reading side; changed is closed at the next change.
func (p *Pipe) Readable() (r Readiness, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.err != nil
	return Readiness{Ready: ended || len(p.buf) > 0, Size: len(p.buf), Hangup: ended}, p.changed
}

// Writable returns the readiness of the writing side; changed is closed at the next change.
func (p *Pipe) Writable() (r Readiness, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.err != nil || p.noReader
	room := p.max - len(p.buf)
	return Readiness{Ready: ended || room > 0, Size: room, Hangup: ended}, p.changed
}
