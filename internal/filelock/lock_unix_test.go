//go:build unix

package filelock

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A file system without locks is an error: otherwise two processes could do the same work.
func TestOutcome_reportsFileSystemsWithoutLocks(t *testing.T) {
	for result, want := range map[error]error{unix.ENOTSUP: ErrNoLocks, unix.ENOLCK: ErrNoLocks, unix.ENOSYS: ErrNoLocks, unix.EIO: unix.EIO} {
		if free, err := outcome("x", result); free || !errors.Is(err, want) {
			t.Errorf("%v: got %v, %v; want false, %v", result, free, err, want)
		}
	}
	if free, err := outcome("x", nil); !free || err != nil {
		t.Errorf("taken: got %v, %v; want true, no error", free, err)
	}
	if free, err := outcome("x", unix.EWOULDBLOCK); free || err != nil {
		t.Errorf("held: got %v, %v; want false, no error", free, err)
	}
}
