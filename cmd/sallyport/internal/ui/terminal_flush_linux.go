package ui

import "golang.org/x/sys/unix"

// flush discards input that was typed and not yet read.
func (t *Terminal) flush() error {
	return unix.IoctlSetInt(int(t.in.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
