package system

import (
	"io/fs"
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Normalizes reports whether file systems of this system treat names in different Unicode normal forms as equal.
const Normalizes = true

func systemStat(st *wasi.Stat, info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		st.Dev, st.Ino, st.Nlink = uint64(s.Dev), s.Ino, uint64(s.Nlink)
		st.Atime, st.Ctime = s.Atimespec.Nano(), s.Ctimespec.Nano()
	}
}
