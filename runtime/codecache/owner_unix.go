//go:build unix

package codecache

import (
	"io/fs"
	"os"
	"syscall"
)

// hasFileModes tells whether permission bits say who may write.
const hasFileModes = true

func ownedByUs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
