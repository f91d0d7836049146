package tree

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/tree/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// raced is an Errno for inside: a folder or file was replaced between the look and the opening.
const raced wasi.Errno = 0xffff

// maxRaces is how often a path is walked again after that.
const maxRaces = 8

// again does something until it is not raced.
func again[T any](do func() (T, wasi.Errno)) (result T, e wasi.Errno) {
	for range maxRaces {
		if result, e = do(); e != raced {
			return result, e
		}
	}
	return result, wasi.EBUSY
}

// openFolder opens a folder that was looked at, through the folder that holds it.
func openFolder(parent *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	root, err := parent.OpenRoot(name + "/.") // the dot keeps a fifo put there from blocking
	if err != nil {
		return nil, err
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = raced
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// lookedErrno translates the error of opening or reading what was looked at just before. What says
// that it is of another kind now, or leads elsewhere, says that it was replaced.
func lookedErrno(err error) wasi.Errno {
	e := system.Errno(err)
	_, known := errors.AsType[syscall.Errno](err)
	switch e {
	case raced, wasi.ENOENT, wasi.ELOOP, wasi.ENOTDIR, wasi.EINVAL:
		return raced
	case wasi.EIO:
		if !known { // os.Root's own: the path leads out of the folder
			return raced
		}
	}
	return e
}
