package listener

import (
	"net"
	"os"
	"strconv"
	"syscall"
)

// peer returns the user at the other end of a unix socket, as the kernel noted it at connect, and
// whether that user may call.
func peer(c net.Conn) (uid string, ok bool) {
	u, isUnix := c.(*net.UnixConn)
	if !isUnix {
		return "", false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return "", false
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || failed != nil {
		return "", false
	}
	return strconv.Itoa(int(cred.Uid)), cred.Uid == 0 || int(cred.Uid) == os.Geteuid()
}
