package sallyport

import "io"

// Host is the set of functions that a module imports. In a module it is the real host. sallyporttest provides one for
// tests, and a plugin may implement others.
//
// Stream 0 is the current request, and stream 1 its response.
type Host interface {
	// Read reads from a stream. It returns the number of bytes, 0 at the end, or −errno.
	Read(stream uint32, p []byte) int32
	// Write writes to a stream. It returns the number of bytes written, or −errno.
	Write(stream uint32, p []byte) int32
	// Call sends a request. It returns (stream of the response << 32 | size in bytes), with 0xFFFFFFFF for an unknown
	// size, or −errno.
	Call(request []byte) int64
	// Close ends a stream. It returns 0 or −errno.
	Close(stream uint32) int32
}

const (
	requestStream  = 0
	responseStream = 1

	unknownSize = 0xFFFFFFFF
	// firstBuffer bounds the initial allocation for an announced size, so that a wrong size costs little memory.
	firstBuffer = 1 << 20
)

// Errno is an error number of WASI preview 1, as returned by the host's stream functions.
type Errno int32

// Error numbers of the host.
const (
	ErrnoBadStream Errno = 8  // no such stream
	ErrnoCancelled Errno = 11 // cancelled, or deadline exceeded
	ErrnoFault     Errno = 21 // memory out of range
	ErrnoTooBig    Errno = 22 // limit exceeded
	ErrnoInvalid   Errno = 28 // malformed
	ErrnoIO        Errno = 29 // I/O error
)

// Error returns the meaning of the number.
func (e Errno) Error() string {
	switch e {
	case ErrnoBadStream:
		return "no such stream"
	case ErrnoCancelled:
		return "the call was cancelled"
	case ErrnoTooBig:
		return "over the host's limit"
	}
	return "host error number " + itoa(int64(e))
}

// readAll reads a stream to its end. size is a hint, −1 or 0 if unknown.
func readAll(h Host, stream uint32, size int64) ([]byte, error) {
	buf := make([]byte, 0, min(max(size+1, 512), firstBuffer))
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n := h.Read(stream, buf[len(buf):cap(buf)])
		if n < 0 {
			return nil, Errno(-n)
		}
		if n == 0 {
			return buf, nil
		}
		buf = buf[:len(buf)+int(n)]
	}
}

func writeAll(h Host, stream uint32, p []byte) error {
	for len(p) > 0 {
		n := h.Write(stream, p)
		if n < 0 {
			return Errno(-n)
		}
		if n == 0 {
			return io.ErrShortWrite
		}
		p = p[n:]
	}
	return nil
}
