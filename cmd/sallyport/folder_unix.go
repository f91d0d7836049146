//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// openToOthers reports whether others can read a file of this mode.
func openToOthers(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }

// private reports whether a folder belongs to this user, and nobody else can write to it.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
