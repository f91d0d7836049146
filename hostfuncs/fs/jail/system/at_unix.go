//go:build unix

package system

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NoBlock keeps an open from waiting for the other end of a fifo.
const NoBlock = syscall.O_NONBLOCK

// Rename moves an entry between two open folders, so that no folder on the way can be replaced.
func Rename(a, b Name) error {
	return withFolders(a.Folder, b.Folder, func(from, to int) error {
		return unix.Renameat(from, a.Name, to, b.Name)
	})
}

// Link links between two open folders. It does not follow a link.
func Link(a, b Name) error {
	return withFolders(a.Folder, b.Folder, func(from, to int) error {
		return unix.Linkat(from, a.Name, to, b.Name, 0)
	})
}

// SetTimesAt sets the access and modification time of a name in an open folder, in nanoseconds. It does not follow a
// link.
func SetTimesAt(root *os.Root, name string, times [2]int64) error {
	return withFolders(root, nil, func(dir, _ int) error {
		ts := []unix.Timespec{unix.NsecToTimespec(times[0]), unix.NsecToTimespec(times[1])}
		return unix.UtimesNanoAt(dir, name, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// withFolders calls do with the descriptors of one or two folders. They are valid only during the call.
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

// withFile calls do with the descriptor of a file. It is valid only during the call.
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

// SetAppend sets or clears O_APPEND on an open file.
func SetAppend(f *os.File, on bool) error {
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

// SyncFolder flushes an open folder to disk.
func SyncFolder(f *os.File) error { return f.Sync() }
