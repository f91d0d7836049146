//go:build !linux || race

package listener

import (
	"io"
	"net"
)

// direct returns the two directions of a connection.
func direct(c net.Conn) (io.Reader, io.Writer) { return c, c }
