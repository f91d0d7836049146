package system

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrMoved means that an open folder is not the one at a path, or that a link is on the way to it.
var ErrMoved = errors.New("the folder is not at this path, or a link is on the way")

// settled checks the path and the folder one after the other. To go unnoticed, a process that replaces a folder on the
// way must restore it between the checks.
func settled(root *os.Root, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err != nil {
		return err
	}
	here, err := root.Stat(".")
	if err == nil && (real != path || !os.SameFile(here, there)) {
		err = ErrMoved
	}
	return err
}
