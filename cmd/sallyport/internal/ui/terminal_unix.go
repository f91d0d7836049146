//go:build unix

package ui

import "os"

// open opens /dev/tty, the controlling terminal of any process.
func open() (in, out *os.File, err error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return f, f, err
}
