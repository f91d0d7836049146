//go:build !linux && !darwin

package system

import (
	"io/fs"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Normalizes says whether the system's file systems take differently composed letters for the same.
const Normalizes = false

// systemStat leaves what only the system's own structures would tell: inode 0 is unknown.
func systemStat(*wasi.Stat, fs.FileInfo) {}
