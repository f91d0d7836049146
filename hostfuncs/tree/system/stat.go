package system

import (
	"io/fs"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Stat describes a file by what the system said about it.
func Stat(info fs.FileInfo) wasi.Stat {
	mtime := info.ModTime().UnixNano()
	st := wasi.Stat{
		Nlink: 1,
		Type:  wasi.FiletypeOf(info.Mode()),
		Size:  info.Size(),
		Atime: mtime,
		Mtime: mtime,
		Ctime: mtime,
	}
	systemStat(&st, info)
	return st
}
