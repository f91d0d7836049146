//go:build !unix && !windows

package filelock

import (
	"fmt"
	"os"
)

// Try fails with ErrNoLocks: this system has none.
func Try(f *os.File) (free bool, err error) { return false, fmt.Errorf("%s: %w", f.Name(), ErrNoLocks) }
