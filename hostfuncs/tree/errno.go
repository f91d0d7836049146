package tree

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// errnoOf translates an error of the system.
func errnoOf(err error) wasi.Errno {
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

// kindErrno translates what is left by what Go knows about it.
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

// lookedErrno translates the error of opening or reading what was looked at just before. What says
// that it is of another kind now, or leads elsewhere, says that it was replaced.
func lookedErrno(err error) wasi.Errno {
	e := errnoOf(err)
	_, known := errors.AsType[syscall.Errno](err)
	switch e {
	case raced, wasi.ENOENT, wasi.ELOOP, wasi.ENOTDIR, wasi.EINVAL:
		return raced
	case wasi.EIO:
		if !known { // os.Root's own: the path leads out of the folder
			return raced
		}
	}
	return e
}
