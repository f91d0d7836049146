//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Try takes the lock of an open file without waiting, and reports whether it was free. The error is ErrNoLocks on a
// file system without locks.
func Try(f *os.File) (free bool, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return false, err
	}
	return outcome(f.Name(), result)
}

// outcome interprets the result of flock(2) for a file.
func outcome(name string, result error) (free bool, err error) {
	switch {
	case errors.Is(result, unix.EWOULDBLOCK):
		return false, nil
	case errors.Is(result, unix.ENOTSUP), errors.Is(result, unix.ENOLCK), errors.Is(result, unix.ENOSYS):
		return false, fmt.Errorf("%s: %w (%w)", name, ErrNoLocks, result)
	}
	return result == nil, result
}
