package system

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Settled returns ErrMoved unless the open folder is at an absolute path without links. The kernel resolves the path
// in one call, so that no folder can be replaced meanwhile.
func Settled(root *os.Root, path string) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, or a sandbox without the system call
		return settled(root, path)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT):
		return ErrMoved
	case err != nil:
		return &os.PathError{Op: "openat2", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	there, err := f.Stat()
	if err != nil {
		return err
	}
	here, err := root.Stat(".")
	if err == nil && !os.SameFile(here, there) {
		err = ErrMoved
	}
	return err
}
