//go:build unix

package private

import (
	"io/fs"
	"os"
	"syscall"
)

// OpenToOthers reports whether others can read a file of this mode.
func OpenToOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }

// ours reports whether a folder belongs to this user, and nobody else can write to it.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
