package system

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrMoved says that a folder that is held open is not the one at a path, or that a link is on the way to it.
var ErrMoved = errors.New("the folder is not at this path, or a link is on the way")

// settled asks for a folder and its path one after the other: who replaces folders on the way meanwhile has to put them
// back at the right moments to be missed.
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
