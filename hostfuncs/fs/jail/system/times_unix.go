//go:build unix && !linux

package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// SetTimes sets the access and modification time of an open file, given in nanoseconds, with a precision of
// microseconds.
func SetTimes(f *os.File, times [2]int64) error {
	return withFile(f, func(fd int) error {
		return unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(times[0]), unix.NsecToTimeval(times[1])})
	})
}
