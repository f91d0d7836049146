package system

import (
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Windows error numbers that package syscall does not define.
const (
	errorNotSameDevice      syscall.Errno = 17
	errorSharingViolation   syscall.Errno = 32
	errorDiskFull           syscall.Errno = 112
	errorInvalidName        syscall.Errno = 123
	errorNameTooLong        syscall.Errno = 206
	errorDirectory          syscall.Errno = 267
	errorPrivilegeNotHeld   syscall.Errno = 1314
	errorCantAccessFile     syscall.Errno = 1920
	errorCantResolveLink    syscall.Errno = 1921
	errorNotAReparsePoint   syscall.Errno = 4390
	errorTooManyOpenFiles   syscall.Errno = 4
	errorWriteProtected     syscall.Errno = 19
	errorTooManyLinks       syscall.Errno = 1142
	errorInvalidFunction    syscall.Errno = 1
	errorNotSupportedNumber syscall.Errno = 50
)

func systemErrno(e syscall.Errno) (wasi.Errno, bool) {
	switch e {
	case errorNotSameDevice:
		return wasi.EXDEV, true
	case errorSharingViolation:
		return wasi.EBUSY, true
	case errorDiskFull:
		return wasi.ENOSPC, true
	case errorInvalidName:
		return wasi.ENOENT, true
	case errorNameTooLong, syscall.ENAMETOOLONG:
		return wasi.ENAMETOOLONG, true
	case errorDirectory, syscall.ENOTDIR:
		return wasi.ENOTDIR, true
	case syscall.EISDIR:
		return wasi.EISDIR, true
	case syscall.ELOOP, errorCantResolveLink:
		return wasi.ELOOP, true
	case errorPrivilegeNotHeld:
		return wasi.EPERM, true
	case errorCantAccessFile:
		return wasi.EACCES, true
	case errorNotAReparsePoint, errorInvalidFunction, syscall.EINVAL:
		return wasi.EINVAL, true
	case errorTooManyOpenFiles, syscall.EMFILE:
		return wasi.EMFILE, true
	case errorWriteProtected:
		return wasi.EROFS, true
	case errorTooManyLinks:
		return wasi.EMLINK, true
	case errorNotSupportedNumber:
		return wasi.ENOTSUP, true
	case syscall.ERROR_DIR_NOT_EMPTY, syscall.ENOTEMPTY:
		return wasi.ENOTEMPTY, true
	}
	return 0, false
}
