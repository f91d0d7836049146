//go:build unix

package secret

import (
	"fmt"
	"io/fs"
)

// closed refuses a file that others can read or write.
func closed(name string, mode fs.FileMode) error {
	if mode.Perm()&0o077 != 0 {
		return fmt.Errorf("others can read or change it (mode %04o): chmod 600 %s", mode.Perm(), name)
	}
	return nil
}
