package jail

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// raced is an internal Errno: a folder or file was replaced between Lstat and open.
const raced wasi.Errno = 0xffff

// maxRaces is the number of times that a raced path is walked.
const maxRaces = 8

// again calls do until its error is not raced, at most maxRaces times. Then it returns EBUSY.
func again[T any](do func() (T, wasi.Errno)) (result T, e wasi.Errno) {
	for range maxRaces {
		if result, e = do(); e != raced {
			return result, e
		}
	}
	return result, wasi.EBUSY
}

// openFolder opens a folder through its parent, and verifies that it is the folder that info describes.
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

// lookedErrno translates the error of opening or reading an object after its Lstat. An error that shows a changed type
// or location means that the object was replaced.
func lookedErrno(err error) wasi.Errno {
	e := system.Errno(err)
	_, known := errors.AsType[syscall.Errno](err)
	switch e {
	case raced, wasi.ENOENT, wasi.ELOOP, wasi.ENOTDIR, wasi.EINVAL:
		return raced
	case wasi.EIO:
		if !known { // an error of os.Root: the path leads out of the folder
			return raced
		}
	}
	return e
}
