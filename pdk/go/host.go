package sallyport

import "io"

// Host is the other side of the sandbox: the four functions a module imports. In a module it is the
// real one; sallyporttest gives another, and so can you.
//
// Stream 0 is the request that is being served, stream 1 its response.
type Host interface {
	// Read reads from a stream; 0 bytes are its end, a negative number is −errno.
	Read(stream uint32, p []byte) int32
	// Write writes to a stream and returns how many bytes it took, or −errno.
	Write(stream uint32, p []byte) int32
	// Call asks for something and returns the stream of the answer << 32 | its size in bytes
	// (0xFFFFFFFF if unknown), or −errno.
	Call(request []byte) int64
	// Close ends a stream; 0, or −errno.
	Close(stream uint32) int32
}

const (
	requestStream  = 0
	responseStream = 1

	unknownSize = 0xFFFFFFFF
	// firstBuffer is how much is allocated at once for what the other side announced, so that a wrong
	// number costs little.
	firstBuffer = 1 << 20
)

// Errno is an error number of WASI preview 1, which the host's stream functions answer with.
type Errno int32

// The numbers that the host is known to give.
const (
	ErrnoBadStream Errno = 8  // no such stream
	ErrnoCancelled Errno = 11 // the caller gave up
	ErrnoFault     Errno = 21 // memory out of range
	ErrnoTooBig    Errno = 22 // over a limit
	ErrnoInvalid   Errno = 28 // malformed
	ErrnoIO        Errno = 29 // input or output error
)

// Error says what the number means.
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

// readAll reads a stream to its end. Size is a hint, −1 or 0 if unknown.
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
