package ui

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// open opens the console of this process by its two device names.
func open() (in, out *os.File, err error) {
	in, err = os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	out, err = os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, out, nil
}

// flush discards input that was typed and not yet read.
func (t *Terminal) flush() error { return windows.FlushConsoleInputBuffer(windows.Handle(t.in.Fd())) }
