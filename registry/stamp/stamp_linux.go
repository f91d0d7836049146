package stamp

import (
	"os"
	"syscall"
)

// identify adds what tells the file from others with the same size and time.
func (s *Stamp) identify(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	s.Device, s.Inode = uint64(st.Dev), st.Ino
	s.Ctime = st.Ctim.Nano()
	return true
}

// The numbers of fcntl for leases, which package syscall does not have.
const (
	fSetLease = 1024
	fRdLck    = 0
	fUnlck    = 2
)

// beingWritten reports whether some process has the file open for writing: then the kernel gives no
// read lease on it. Where leases are not to be had the answer is no.
func beingWritten(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	busy := false
	raw.Control(func(fd uintptr) {
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, fSetLease, fRdLck)
		busy = errno == syscall.EAGAIN
		if errno == 0 {
			syscall.Syscall(syscall.SYS_FCNTL, fd, fSetLease, fUnlck)
		}
	})
	return busy
}
