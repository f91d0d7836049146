package wasi

import "strconv"

// Errno is an error number of WASI preview 1. The zero value is success.
type Errno uint16

// The numbers this host answers with, as the specification assigns them.
const (
	ESUCCESS     Errno = 0  // success
	E2BIG        Errno = 1  // argument list too long
	EACCES       Errno = 2  // permission denied
	EAGAIN       Errno = 6  // try again
	EBADF        Errno = 8  // bad descriptor
	EBUSY        Errno = 10 // in use
	ECANCELED    Errno = 11 // cancelled
	EEXIST       Errno = 20 // already there
	EFAULT       Errno = 21 // bad address
	EFBIG        Errno = 22 // file too large
	EILSEQ       Errno = 25 // not valid UTF-8
	EINTR        Errno = 27 // interrupted
	EINVAL       Errno = 28 // invalid argument
	EIO          Errno = 29 // input or output error
	EISDIR       Errno = 31 // is a folder
	ELOOP        Errno = 32 // too many symbolic links
	EMFILE       Errno = 33 // too many open descriptors
	EMLINK       Errno = 34 // too many links
	ENAMETOOLONG Errno = 37 // name too long
	ENFILE       Errno = 41 // too many open files in the system
	ENODEV       Errno = 43 // no such device
	ENOENT       Errno = 44 // no such file or folder
	ENOMEM       Errno = 48 // out of memory
	ENOSPC       Errno = 51 // no space left
	ENOSYS       Errno = 52 // not implemented
	ENOTDIR      Errno = 54 // not a folder
	ENOTEMPTY    Errno = 55 // folder is not empty
	ENOTSUP      Errno = 58 // not supported
	ENXIO        Errno = 60 // no such device or address
	EOVERFLOW    Errno = 61 // value too large
	EPERM        Errno = 63 // not permitted
	EPIPE        Errno = 64 // broken pipe
	ERANGE       Errno = 68 // result too large
	EROFS        Errno = 69 // read-only
	ESPIPE       Errno = 70 // not seekable
	ETIMEDOUT    Errno = 73 // timed out
	ETXTBSY      Errno = 74 // program is running
	EXDEV        Errno = 75 // on another file system
	ENOTCAPABLE  Errno = 76 // not granted
)

// Error says what the number means, so that an Errno can travel as an error.
func (e Errno) Error() string {
	switch e {
	case ESUCCESS:
		return "success"
	case E2BIG:
		return "argument list too long"
	case EACCES:
		return "permission denied"
	case EAGAIN:
		return "try again"
	case EBADF:
		return "bad descriptor"
	case EBUSY:
		return "in use"
	case ECANCELED:
		return "cancelled"
	case EEXIST:
		return "already there"
	case EFAULT:
		return "bad address"
	case EFBIG:
		return "file too large"
	case EILSEQ:
		return "not valid UTF-8"
	case EINTR:
		return "interrupted"
	case EINVAL:
		return "invalid argument"
	case EIO:
		return "input or output error"
	case EISDIR:
		return "is a folder"
	case ELOOP:
		return "too many symbolic links"
	case EMFILE:
		return "too many open descriptors"
	case EMLINK:
		return "too many links"
	case ENAMETOOLONG:
		return "name too long"
	case ENFILE:
		return "too many open files in the system"
	case ENODEV:
		return "no such device"
	case ENOENT:
		return "no such file or folder"
	case ENOMEM:
		return "out of memory"
	case ENOSPC:
		return "no space left"
	case ENOSYS:
		return "not implemented"
	case ENOTDIR:
		return "not a folder"
	case ENOTEMPTY:
		return "folder is not empty"
	case ENOTSUP:
		return "not supported"
	case ENXIO:
		return "no such device or address"
	case EOVERFLOW:
		return "value too large"
	case EPERM:
		return "not permitted"
	case EPIPE:
		return "broken pipe"
	case ERANGE:
		return "result too large"
	case EROFS:
		return "read-only"
	case ESPIPE:
		return "not seekable"
	case ETIMEDOUT:
		return "timed out"
	case ETXTBSY:
		return "program is running"
	case EXDEV:
		return "on another file system"
	case ENOTCAPABLE:
		return "not granted"
	}
	return "errno " + strconv.Itoa(int(e))
}
