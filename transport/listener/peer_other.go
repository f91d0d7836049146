//go:build !linux

package listener

import (
	"net"
	"os/user"
)

// peer assumes that the peer of a unix socket is this user: the mode of the socket admits only this user and root.
func peer(net.Conn) (uid string, ok bool) {
	u, err := user.Current()
	if err != nil {
		return "", false
	}
	return u.Uid, true
}
