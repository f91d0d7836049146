//go:build !unix && !windows

package filelock

import (
	"fmt"
	"os"
)

// Try returns ErrNoLocks: this system has no locks.
func Try(f *os.File) (free bool, err error) { return false, fmt.Errorf("%s: %w", f.Name(), ErrNoLocks) }
