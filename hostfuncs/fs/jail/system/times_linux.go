package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// SetTimes sets the access and modification time of an open file, in nanoseconds. Before Linux 5.8 they are set to the
// microsecond.
func SetTimes(f *os.File, times [2]int64) error {
	return withFile(f, func(fd int) error {
		ts := []unix.Timespec{unix.NsecToTimespec(times[0]), unix.NsecToTimespec(times[1])}
		err := unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH)
		if err == unix.EINVAL || err == unix.ENOENT {
			err = unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(times[0]), unix.NsecToTimeval(times[1])})
		}
		return err
	})
}
