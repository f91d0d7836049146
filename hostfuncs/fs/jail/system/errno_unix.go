//go:build unix

package system

import (
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func systemErrno(e syscall.Errno) (wasi.Errno, bool) {
	switch e {
	case syscall.EPERM:
		return wasi.EPERM, true
	case syscall.ENOENT:
		return wasi.ENOENT, true
	case syscall.EINTR:
		return wasi.EINTR, true
	case syscall.EIO:
		return wasi.EIO, true
	case syscall.ENXIO:
		return wasi.ENXIO, true
	case syscall.EBADF:
		return wasi.EBADF, true
	case syscall.EAGAIN:
		return wasi.EAGAIN, true
	case syscall.ENOMEM:
		return wasi.ENOMEM, true
	case syscall.EACCES:
		return wasi.EACCES, true
	case syscall.EBUSY:
		return wasi.EBUSY, true
	case syscall.EEXIST:
		return wasi.EEXIST, true
	case syscall.EXDEV:
		return wasi.EXDEV, true
	case syscall.ENODEV:
		return wasi.ENODEV, true
	case syscall.ENOTDIR:
		return wasi.ENOTDIR, true
	case syscall.EISDIR:
		return wasi.EISDIR, true
	case syscall.EINVAL:
		return wasi.EINVAL, true
	case syscall.ENFILE:
		return wasi.ENFILE, true
	case syscall.EMFILE:
		return wasi.EMFILE, true
	case syscall.ETXTBSY:
		return wasi.ETXTBSY, true
	case syscall.EFBIG:
		return wasi.EFBIG, true
	case syscall.ENOSPC, syscall.EDQUOT:
		return wasi.ENOSPC, true
	case syscall.ESPIPE:
		return wasi.ESPIPE, true
	case syscall.EROFS:
		return wasi.EROFS, true
	case syscall.EMLINK:
		return wasi.EMLINK, true
	case syscall.ENAMETOOLONG:
		return wasi.ENAMETOOLONG, true
	case syscall.ENOTEMPTY:
		return wasi.ENOTEMPTY, true
	case syscall.ELOOP:
		return wasi.ELOOP, true
	case syscall.EOVERFLOW:
		return wasi.EOVERFLOW, true
	case syscall.EILSEQ:
		return wasi.EILSEQ, true
	case syscall.ENOTSUP:
		return wasi.ENOTSUP, true
	}
	return 0, false
}
