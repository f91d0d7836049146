package terminal

import "golang.org/x/sys/unix"

// flush drops what was typed and not read yet.
func (t *Terminal) flush() error {
	return unix.IoctlSetInt(int(t.in.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
