//go:build linux || darwin

package fileid

import (
	"os"
	"syscall"
)

// identify sets the fields that distinguish files with the same size and time.
func (s *Stamp) identify(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	s.Device, s.Inode, s.Ctime = uint64(st.Dev), st.Ino, ctime(st)
	return true
}
