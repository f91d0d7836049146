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
			t.Errorf("%v: %v, %v", result, free, err)
		}
	}
	if free, err := outcome("x", nil); !free || err != nil {
		t.Errorf("taken: %v, %v", free, err)
	}
	if free, err := outcome("x", unix.EWOULDBLOCK); free || err != nil {
		t.Errorf("held: %v, %v", free, err)
	}
}
