package wasi

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// pumpSize is the size in bytes of the buffer between a blocking reader and the guest: enough for one line of a
// protocol. Its content is lost when the call ends.
const pumpSize = 64 << 10

// stream is descriptor 0, 1 or 2. At most one of in, now and out is set. Without any, reading finds the end and
// writing discards.
type stream struct {
	in   *Pipe
	now  io.Reader // a reader that never waits
	out  io.Writer
	full *Pipe // out, if it is a pipe, which may be full
	pump *pump

	starved bool // the guest was told that there is no input, and has not asked for it since
	yields  int  // since then
}

// maxYields limits the yields of a guest that leaves its input unread. It is a second or so of nothing else.
const maxYields = 1 << 18

// yielded ends a guest that yields for ever while input waits: one of Go in which a goroutine waits for signals. Its
// scheduler polls no input while a goroutine can run, and that one always can.
func (s *stream) yielded() {
	if !s.starved || s.in == nil {
		return
	}
	if s.yields++; s.yields < maxYields {
		return
	}
	if r, _ := s.in.Readable(); r.Ready {
		runtime.Abort(&runtime.EndError{Kind: runtime.KindGuest, Message: "the program waits for signals (signal.Notify), which Go on WASI does by yielding without an end, and so it never reads its input"})
	}
	s.yields = 0
}

func inputStream(r io.Reader) stream {
	switch r := r.(type) {
	case nil:
		return stream{}
	case *Pipe:
		return stream{in: r}
	case interface{ Len() int }: // bytes.Reader, bytes.Buffer, strings.Reader
		return stream{now: r.(io.Reader)}
	}
	p := NewPipe(pumpSize)
	return stream{in: p, pump: &pump{from: r, to: p}}
}

func outputStream(w io.Writer) stream {
	p, _ := w.(*Pipe)
	return stream{out: w, full: p}
}

// read fills p with available bytes. 0 bytes and success is the end.
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
		if s.starved, s.yields = wait != nil, 0; wait != nil {
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

// readiness returns the readiness for a poll. A nil channel means that it never changes.
func (s *stream) readiness(write bool) (Readiness, <-chan struct{}) {
	switch {
	case write && s.full != nil:
		return s.full.Writable()
	case !write && s.in != nil:
		s.starved = false
		s.pump.start()
		return s.in.Readable()
	case write == (s.out != nil):
		return Readiness{Ready: true, Hangup: !write && s.now == nil}, nil
	}
	return Readiness{Ready: true, Hangup: true}, nil
}

func (s *stream) close() { s.pump.stop() }

// streamErrno translates the error of a stream; its end is success. After some bytes were moved the error is dropped,
// since the next call returns it again.
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

// pump copies a blocking reader to a pipe, from the first use by the guest until the State is closed.
type pump struct {
	from io.Reader
	to   *Pipe
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

// stop ends the pump. A reader that is an io.Closer is closed, and stop waits for its goroutine. Otherwise the
// goroutine remains until Read returns.
func (p *pump) stop() {
	if p == nil {
		return
	}
	p.once.Do(func() {}) // prevents a later start
	p.to.CloseRead()
	if c, ok := p.from.(io.Closer); ok {
		_ = c.Close()
		if p.done != nil {
			<-p.done
		}
	}
}
