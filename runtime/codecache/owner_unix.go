//go:build unix

package codecache

import (
	"io/fs"
	"os"
	"syscall"
)

// hasFileModes reports whether permission bits control write access.
const hasFileModes = true

func ownedByUs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
