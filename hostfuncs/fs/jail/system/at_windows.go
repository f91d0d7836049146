package system

import (
	"os"
	"syscall"
)

// SetTimes sets the access and modification time of an open file, in nanoseconds.
func SetTimes(f *os.File, times [2]int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		a, m := syscall.NsecToFiletime(times[0]), syscall.NsecToFiletime(times[1])
		result = syscall.SetFileTime(syscall.Handle(fd), nil, &a, &m)
	})
	if err != nil {
		return err
	}
	return result
}
