package native

// Errno is an error number as the four imports return it, negated. The values are WASI preview 1's.
type Errno int32

// The error numbers that a guest can meet.
const (
	EBADF   Errno = 8  // no such stream, or not for this use
	ECANCEL Errno = 11 // the call is over; the guest is about to be ended
	EFAULT  Errno = 21 // outside the memory
	EFBIG   Errno = 22 // over the stream's own limit
	EIO     Errno = 29 // the source of a stream failed
	EMFILE  Errno = 33 // too many open streams
	ENOSPC  Errno = 51 // over what all written streams may hold
	ENOSYS  Errno = 52 // no request is being served
)
