package wasi

import "strconv"

// Errno is an error number of WASI preview 1. The zero value is success.
type Errno uint16

// Errors that this host returns, with the numbers of the specification.
const (
	ESUCCESS     Errno = 0
	E2BIG        Errno = 1
	EACCES       Errno = 2
	EAGAIN       Errno = 6
	EBADF        Errno = 8
	EBUSY        Errno = 10
	ECANCELED    Errno = 11
	EEXIST       Errno = 20
	EFAULT       Errno = 21
	EFBIG        Errno = 22
	EILSEQ       Errno = 25
	EINTR        Errno = 27
	EINVAL       Errno = 28
	EIO          Errno = 29
	EISDIR       Errno = 31
	ELOOP        Errno = 32
	EMFILE       Errno = 33
	EMLINK       Errno = 34
	ENAMETOOLONG Errno = 37
	ENFILE       Errno = 41
	ENODEV       Errno = 43
	ENOENT       Errno = 44
	ENOMEM       Errno = 48
	ENOSPC       Errno = 51
	ENOSYS       Errno = 52
	ENOTDIR      Errno = 54
	ENOTEMPTY    Errno = 55
	ENOTSOCK     Errno = 57
	ENOTSUP      Errno = 58
	ENXIO        Errno = 60
	EOVERFLOW    Errno = 61
	EPERM        Errno = 63
	EPIPE        Errno = 64
	ERANGE       Errno = 68
	EROFS        Errno = 69
	ESPIPE       Errno = 70
	ETIMEDOUT    Errno = 73
	ETXTBSY      Errno = 74
	EXDEV        Errno = 75
	ENOTCAPABLE  Errno = 76
)

// Error returns a description, so that an Errno can be used as an error.
func (e Errno) Error() string {
	if int(e) < len(meanings) && meanings[e] != "" {
		return meanings[e]
	}
	return "errno " + strconv.Itoa(int(e))
}

var meanings = [...]string{
	ESUCCESS:     "success",
	E2BIG:        "argument list too long",
	EACCES:       "permission denied",
	EAGAIN:       "try again",
	EBADF:        "bad descriptor",
	EBUSY:        "in use",
	ECANCELED:    "cancelled",
	EEXIST:       "already there",
	EFAULT:       "bad address",
	EFBIG:        "file too large",
	EILSEQ:       "not valid UTF-8",
	EINTR:        "interrupted",
	EINVAL:       "invalid argument",
	EIO:          "input or output error",
	EISDIR:       "is a folder",
	ELOOP:        "too many symbolic links",
	EMFILE:       "too many open descriptors",
	EMLINK:       "too many links",
	ENAMETOOLONG: "name too long",
	ENFILE:       "too many open files in the system",
	ENODEV:       "no such device",
	ENOENT:       "no such file or folder",
	ENOMEM:       "out of memory",
	ENOSPC:       "no space left",
	ENOSYS:       "not implemented",
	ENOTDIR:      "not a folder",
	ENOTEMPTY:    "folder is not empty",
	ENOTSOCK:     "not a socket",
	ENOTSUP:      "not supported",
	ENXIO:        "no such device or address",
	EOVERFLOW:    "value too large",
	EPERM:        "not permitted",
	EPIPE:        "broken pipe",
	ERANGE:       "result too large",
	EROFS:        "read-only",
	ESPIPE:       "not seekable",
	ETIMEDOUT:    "timed out",
	ETXTBSY:      "program is running",
	EXDEV:        "on another file system",
	ENOTCAPABLE:  "not granted",
}
