package wasi

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi/pipe"
)

// pumpSize is the buffer between a reader that blocks and the guest: large enough for one line of a
// protocol, small enough to lose when the call ends.
const pumpSize = 64 << 10

// stream is descriptor 0, 1 or 2. Exactly one of its ends is there; none means that it is empty
// (reading) or swallows everything (writing).
type stream struct {
	in   *pipe.Pipe
	now  io.Reader // a reader that never waits
	out  io.Writer
	full *pipe.Pipe // out, when it is one: it may be full
	pump *pump
}

func inputStream(r io.Reader) *stream {
	switch r := r.(type) {
	case nil:
		return &stream{}
	case *pipe.Pipe:
		return &stream{in: r}
	case interface{ Len() int }: // bytes.Reader, bytes.Buffer, strings.Reader
		return &stream{now: r.(io.Reader)}
	}
	p := pipe.New(pumpSize)
	return &stream{in: p, pump: &pump{from: r, to: p}}
}

func outputStream(w io.Writer) *stream {
	p, _ := w.(*pipe.Pipe)
	return &stream{out: w, full: p}
}

// read fills p with what is there. Nothing and success is the end.
func (s *stream) read(ctx context.Context, p []byte, nonblock bool) (int, Errno) {
	switch {
	case s.out != nil:
		return 0, EBADF
	case s.now != nil:
		n, err := s.now.Read(p)
		return n, streamErrno(n, err)
	case s.in == nil:
		return 0, ESUCCESS
	}
	s.pump.start()
	if nonblock {
		n, wait, err := s.in.TryRead(p)
		if wait != nil {
			return 0, EAGAIN
		}
		return n, streamErrno(n, err)
	}
	n, err := s.in.ReadContext(ctx, p)
	return n, streamErrno(n, err)
}

func (s *stream) write(ctx context.Context, p []byte, nonblock bool) (int, Errno) {
	switch {
	case s.out == nil:
		return 0, EBADF
	case s.full != nil && nonblock:
		n, wait, err := s.full.TryWrite(p)
		if wait != nil && n == 0 {
			return 0, EAGAIN
		}
		return n, streamErrno(n, err)
	case s.full != nil:
		n, err := s.full.WriteContext(ctx, p)
		return n, streamErrno(n, err)
	}
	n, err := s.out.Write(p)
	n = max(0, min(n, len(p)))
	return n, streamErrno(n, err)
}

// readiness answers a poll. A nil channel means that the answer does not change.
func (s *stream) readiness(write bool) (pipe.Readiness, <-chan struct{}) {
	switch {
	case write && s.full != nil:
		return s.full.Writable()
	case !write && s.in != nil:
		s.pump.start()
		return s.in.Readable()
	case write == (s.out != nil):
		return pipe.Readiness{Ready: true, Hangup: !write && s.now == nil}, nil
	}
	return pipe.Readiness{Ready: true, Hangup: true}, nil
}

func (s *stream) close() { s.pump.stop() }

// streamErrno turns the end of a stream into success; bytes that were moved hide an error, which
// comes again.
func streamErrno(n int, err error) Errno {
	switch {
	case n > 0 || err == nil || errors.Is(err, io.EOF):
		return ESUCCESS
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ECANCELED
	case errors.Is(err, io.ErrClosedPipe):
		return EPIPE
	}
	if e := Errno(0); errors.As(err, &e) {
		return e
	}
	return EIO
}

// pump moves a reader that may block into a pipe, from the guest's first use until the State closes.
type pump struct {
	from io.Reader
	to   *pipe.Pipe
	once sync.Once
	done chan struct{}
}

func (p *pump) start() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		p.done = make(chan struct{})
		go p.run()
	})
}

func (p *pump) run() {
	defer close(p.done)
	buf := make([]byte, pumpSize/2)
	for {
		n, err := p.from.Read(buf)
		if _, werr := p.to.Write(buf[:max(0, n)]); werr != nil {
			return
		}
		if err != nil {
			p.to.CloseWithError(err)
			return
		}
	}
}

// stop ends the pump. It closes a reader that can be closed and waits for it; one that cannot be
// closed keeps its goroutine until its Read returns.
func (p *pump) stop() {
	if p == nil {
		return
	}
	p.once.Do(func() {}) // never started: never will be
	p.to.CloseRead()
	if c, ok := p.from.(io.Closer); ok {
		_ = c.Close()
		if p.done != nil {
			<-p.done
		}
	}
}
