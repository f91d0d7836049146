package system

import (
	"io/fs"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Stat converts file information to a wasi.Stat. Fields that the system does not report are derived: one link, and the
// modification time for the other times.
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
