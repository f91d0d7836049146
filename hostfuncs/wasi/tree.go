package wasi

import "io/fs"

// Tree is the file system of one call. Paths are absolute with slashes, and may contain ".", ".." and a trailing
// slash, which requires a folder. ".." is the parent of the folder that was reached, so it is resolved after symbolic
// links. A path that the call may not see returns ENOENT.
//
// A Tree serves one call and one goroutine at a time. No method blocks for longer than the file system below it needs.
type Tree interface {
	// Open opens or creates a file, or opens a folder; EISDIR if o.Write is set for a folder.
	Open(path string, o OpenOptions) (File, Errno)
	// Stat describes the object at path; a symbolic link itself unless follow is set.
	Stat(path string, follow bool) (Stat, Errno)
	// Mkdir creates one folder.
	Mkdir(path string) Errno
	// Rename moves from to to, which may be an existing file or, for a folder, an empty folder.
	Rename(from, to string) Errno
	// Unlink removes an object that is not a folder (EISDIR).
	Unlink(path string) Errno
	// Rmdir removes an empty folder (ENOTEMPTY).
	Rmdir(path string) Errno
	// Symlink creates a symbolic link at path with that target.
	Symlink(target, path string) Errno
	// Readlink returns the target of a symbolic link; EINVAL if path is none.
	Readlink(path string) (string, Errno)
	// Link creates a hard link.
	Link(from, to string, follow bool) Errno
	// Chtimes sets the times of the object at path; of a symbolic link itself unless follow is set.
	Chtimes(path string, t Times, follow bool) Errno
}

// OpenOptions are the options of Tree.Open. The zero value opens an existing object for Stat only.
type OpenOptions struct {
	Read, Write bool // access; a file opened without Read still has a Stat
	Create      bool // create a file if none exists
	Exclusive   bool // with Create: fail with EEXIST if an object exists
	Truncate    bool // truncate a file to 0 bytes; needs Write
	Directory   bool // fail with ENOTDIR if it is not a folder
	NoFollow    bool // fail with ELOOP if the last part is a symbolic link
}

// File is an open file or folder. It has no position: the descriptor holds it. It serves one goroutine at a time.
// Operations that its type does not support return EISDIR, ENOTDIR or EBADF.
type File interface {
	// Path returns the path without links. The path of a folder is updated by renames in its Tree.
	Path() string
	// Stat describes the open file.
	Stat() (Stat, Errno)
	// ReadAt reads at most len(p) bytes at off; 0 bytes and success is the end.
	ReadAt(p []byte, off int64) (int, Errno)
	// WriteAt writes p at off.
	WriteAt(p []byte, off int64) (int, Errno)
	// Append writes p at the end, atomically if the system supports it.
	Append(p []byte) (int, Errno)
	// Truncate changes the size of the file to size bytes.
	Truncate(size int64) Errno
	// Sync flushes the file to disk.
	Sync() Errno
	// Chtimes sets the times of the open file.
	Chtimes(t Times) Errno
	// ReadDir returns at most n more entries of a folder in no fixed order, without "." and ".."; none and success is
	// the end.
	ReadDir(n int) ([]DirEntry, Errno)
	// Rewind restarts ReadDir with the current entries.
	Rewind() Errno
	// Close closes the file. It is called once.
	Close() Errno
}

// Filetype is the type of a file, with WASI's numbers.
type Filetype uint8

// Types of files.
const (
	TypeUnknown     Filetype = 0 // also pipes
	TypeBlockDevice Filetype = 1
	TypeCharDevice  Filetype = 2
	TypeDirectory   Filetype = 3
	TypeRegular     Filetype = 4
	TypeSocket      Filetype = 6
	TypeSymlink     Filetype = 7
)

// FiletypeOf translates Go's mode bits.
func FiletypeOf(m fs.FileMode) Filetype {
	switch {
	case m.IsRegular():
		return TypeRegular
	case m.IsDir():
		return TypeDirectory
	case m&fs.ModeSymlink != 0:
		return TypeSymlink
	case m&fs.ModeCharDevice != 0:
		return TypeCharDevice
	case m&fs.ModeDevice != 0:
		return TypeBlockDevice
	case m&fs.ModeSocket != 0:
		return TypeSocket
	}
	return TypeUnknown
}

// Stat describes a file. Times are nanoseconds since 1970.
type Stat struct {
	Dev, Ino, Nlink     uint64
	Type                Filetype
	Size                int64
	Atime, Mtime, Ctime int64
}

// Times are the times to set, in nanoseconds since 1970; a nil one is not changed.
type Times struct {
	Atime, Mtime *int64
}

// DirEntry is an entry of a folder. Ino 0 is unknown.
type DirEntry struct {
	Name string
	Type Filetype
	Ino  uint64
}
