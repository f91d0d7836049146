package system

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Errno translates an error of the operating system. A nil error is ESUCCESS.
func Errno(err error) wasi.Errno {
	if err == nil {
		return wasi.ESUCCESS
	}
	if e := wasi.Errno(0); errors.As(err, &e) {
		return e
	}
	if sys := syscall.Errno(0); errors.As(err, &sys) {
		if e, ok := systemErrno(sys); ok {
			return e
		}
	}
	return kindErrno(err)
}

// kindErrno translates other errors by their kind in package fs.
func kindErrno(err error) wasi.Errno {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wasi.ENOENT
	case errors.Is(err, fs.ErrExist):
		return wasi.EEXIST
	case errors.Is(err, fs.ErrPermission):
		return wasi.EACCES
	case errors.Is(err, fs.ErrInvalid):
		return wasi.EINVAL
	case errors.Is(err, fs.ErrClosed):
		return wasi.EBADF
	case errors.Is(err, errors.ErrUnsupported):
		return wasi.ENOTSUP
	}
	return wasi.EIO
}
