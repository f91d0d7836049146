package native

// Errno is an error number of the four imports, which return it negated. The values are those of WASI preview 1.
type Errno int32

// The error numbers that a guest can receive.
const (
	EBADF   Errno = 8  // no such stream, or wrong direction
	ECANCEL Errno = 11 // the call is over; the guest is about to be ended
	EFAULT  Errno = 21 // out of memory bounds
	EFBIG   Errno = 22 // over the stream's own limit
	EIO     Errno = 29 // the source of a stream failed
	EMFILE  Errno = 33 // too many open streams
	ENOSPC  Errno = 51 // over the total limit of written streams
	ENOSYS  Errno = 52 // no request is being served
)
