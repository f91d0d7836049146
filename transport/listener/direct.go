//go:build linux && !race

package listener

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/sallyport-mcp/sallyport/internal/threads"
)

// direct returns the two directions of a connection.
//
// An ordinary system call tells Go's scheduler that it may block, and if all threads slept before, that wakes the one that
// watches the others. A socket's calls never block. With one request after the other these wake-ups took an eighth of the
// time of an echo and a quarter of the host's processor time. A guest that computes for long has to wake that thread
// (package threads), and so have reads that find bytes at once for as long: their goroutine never waits, and with one thread
// nothing else would look at other sockets. The race detector learns from ordinary calls which of two goroutines was first.
func direct(c net.Conn) (io.Reader, io.Writer) {
	below := c
	if p, ok := c.(*peerConn); ok {
		below = p.Conn
	}
	var raw syscall.RawConn
	var err error
	switch s := below.(type) {
	case *net.TCPConn:
		raw, err = s.SyscallConn()
	case *net.UnixConn:
		raw, err = s.SyscallConn()
	default:
		return c, c
	}
	if err != nil {
		return c, c
	}
	in, out := newDirection(c, "read", syscall.SYS_READ, raw.Read), newDirection(c, "write", syscall.SYS_WRITE, raw.Write)
	return reader{in}, writer{out}
}

// direction is a socket's read or write.
type direction struct {
	conn net.Conn
	name string                                     // in errors
	wait func(try func(fd uintptr) (ok bool)) error // calls try each time that the socket may be ready
	try  func(fd uintptr) (ok bool)

	mu     sync.Mutex
	p      []byte
	n      int
	errno  syscall.Errno
	waited bool      // for the socket, in this operation
	since  time.Time // of reads: end of the last wait, or of the time after it that was noted
}

// unseen is the time for which a connection may use a thread without waiting until that is noted.
const unseen = 5 * time.Millisecond

func newDirection(c net.Conn, name string, number uintptr, wait func(func(uintptr) bool) error) *direction {
	d := &direction{conn: c, name: name, wait: wait}
	d.try = func(fd uintptr) bool {
		n, errno := uintptr(0), syscall.EINTR
		for errno == syscall.EINTR {
			n, _, errno = syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(d.p))), uintptr(len(d.p)))
		}
		d.n, d.errno = int(n), errno
		if errno == syscall.EAGAIN {
			d.waited = true
			return false
		}
		return true
	}
	return d
}

// once transfers bytes as soon as the socket is ready, at least one unless the peer has ended its direction. Its errors are
// those of the net package. The caller holds mu.
func (d *direction) once(p []byte) (n int, err error) {
	d.p, d.waited = p, false
	err = d.wait(d.try)
	d.p = nil
	switch {
	case err != nil: // of the deadline, or of Close
		return 0, d.failed(err)
	case d.errno != 0:
		return 0, d.failed(os.NewSyscallError(d.name, d.errno))
	}
	return d.n, nil
}

func (d *direction) failed(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	here := d.conn.LocalAddr()
	return &net.OpError{Op: d.name, Net: here.Network(), Source: here, Addr: d.conn.RemoteAddr(), Err: err}
}

type reader struct{ *direction }

// Read reads at least a byte.
func (r reader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, err = r.once(p); n == 0 && err == nil {
		err = io.EOF
	}
	switch {
	case r.waited:
		r.since = time.Now()
	case time.Since(r.since) >= unseen:
		r.since = time.Now()
		threads.Watch()
	}
	return n, err
}

type writer struct{ *direction }

// Write writes all of p, and nothing of another goroutine's between its parts.
func (w writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n < len(p) && err == nil {
		var more int
		more, err = w.once(p[n:])
		n += more
	}
	return n, err
}
