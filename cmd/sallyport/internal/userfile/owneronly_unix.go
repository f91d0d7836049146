//go:build unix

package userfile

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a folder belongs to this user and is writable by its owner only.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
