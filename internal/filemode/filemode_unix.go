//go:build unix

package filemode

import (
	"io/fs"
	"os"
	"syscall"
)

// Private reports whether a file can be read by its user alone, or is root's and readable by the group of this process.
func Private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Mode().Perm()&0o077 == 0
	}
	return private(info.Mode(), owner{int(s.Uid), int(s.Gid)}, owner{os.Geteuid(), os.Getegid()})
}
