//go:build !linux && !darwin

package system

import (
	"io/fs"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Normalizes reports whether file systems of this system treat names in different Unicode normal forms as equal.
const Normalizes = false

// systemStat does nothing: inode 0 is unknown.
func systemStat(*wasi.Stat, fs.FileInfo) {}
