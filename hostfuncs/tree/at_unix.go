//go:build unix

package tree

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noBlock keeps an open from waiting for a fifo's other side.
const noBlock = syscall.O_NONBLOCK

// renameAt moves between two folders that are held open, so that nothing on the way there can be
// replaced.
func renameAt(a, b *place) error {
	return withFolders(a.parent().root, b.parent().root, func(from, to int) error {
		return unix.Renameat(from, a.name, to, b.name)
	})
}

// linkAt links between two folders that are held open. It does not follow a link.
func linkAt(a, b *place) error {
	return withFolders(a.parent().root, b.parent().root, func(from, to int) error {
		return unix.Linkat(from, a.name, to, b.name, 0)
	})
}

// setTimesAt sets times of a name in a folder that is held open. It does not follow a link.
func setTimesAt(root *os.Root, name string, times [2]int64) error {
	return withFolders(root, nil, func(dir, _ int) error {
		ts := []unix.Timespec{unix.NsecToTimespec(times[0]), unix.NsecToTimespec(times[1])}
		return unix.UtimesNanoAt(dir, name, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// withFolders lends the descriptors of one or two folders.
func withFolders(a, b *os.Root, do func(a, b int) error) error {
	return withFolder(a, func(x int) error {
		if b == nil {
			return do(x, -1)
		}
		return withFolder(b, func(y int) error { return do(x, y) })
	})
}

func withFolder(root *os.Root, do func(fd int) error) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return withFile(f, do)
}

// withFile lends the descriptor of a file.
func withFile(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = do(int(fd)) }); err != nil {
		return err
	}
	return result
}

// setAppend makes every write go to the end, or not.
func setAppend(f *os.File, on bool) error {
	return withFile(f, func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		if flags &^= unix.O_APPEND; on {
			flags |= unix.O_APPEND
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
}

func syncFolder(f *os.File) error { return f.Sync() }
