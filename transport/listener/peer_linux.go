package listener

import (
	"net"
	"os"
	"strconv"
	"syscall"
)

// peer returns the user of the peer of a unix socket, as recorded by the kernel at connect, and whether that user is
// permitted.
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
