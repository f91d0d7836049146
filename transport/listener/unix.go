package listener

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// winsockRefused is ECONNREFUSED on Windows. Elsewhere no error has this number.
const winsockRefused = syscall.Errno(10061)

// socketMode allows only the user of this process to connect.
const socketMode = 0o600

// Unix opens an owner-only socket. It replaces a stale socket of an ended process, but no other file.
func Unix(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// Until the mode is set, the umask applies. The peer's user is checked as well.
	if err := os.Chmod(path, socketMode); err != nil {
		ln.Close()
		return nil, err
	}
	return &peerListener{ln}, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is not a socket", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("%s is in use by another process", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, winsockRefused) {
		return err
	}
	return os.Remove(path)
}

// peerListener accepts connections of this user and of root, and records their user.
type peerListener struct{ net.Listener }

// Accept waits for a permitted connection. Others are closed silently.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, ok := peer(c); ok {
			return &peerConn{c, uid}, nil
		}
		c.Close()
	}
}

// peerConn is a connection of a known user.
type peerConn struct {
	net.Conn
	uid string
}
