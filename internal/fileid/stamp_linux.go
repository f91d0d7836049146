package fileid

import (
	"os"
	"syscall"
)

func ctime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// The fcntl constants for leases, which package syscall lacks.
const (
	fSetLease = 1024
	fRdLck    = 0
	fUnlck    = 2
)

// beingWritten reports whether a process has the file open for writing: the kernel then denies a read lease. It returns
// false where leases are not supported.
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
