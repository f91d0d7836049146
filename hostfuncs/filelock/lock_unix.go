//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try takes the lock of an open file, and says whether it was free. Where the file system knows no locks
// every lock is free: there is nothing better.
func Try(f *os.File) (free bool, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return false, err
	}
	switch {
	case errors.Is(result, unix.EWOULDBLOCK):
		return false, nil
	case errors.Is(result, unix.ENOTSUP), errors.Is(result, unix.ENOLCK):
		return true, nil
	}
	return result == nil, result
}
