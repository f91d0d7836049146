package wasi

import "io/fs"

// Tree is the files of one call. Paths are absolute, "/" separates, and they may hold ".", ".." and
// a trailing slash, which demands a folder; ".." is the parent of what was really reached, so it is
// resolved after symbolic links. What the call may not see answers ENOENT.
//
// A Tree serves one call and one goroutine at a time. No method blocks for longer than the file
// system under it needs.
type Tree interface {
	// Open opens or creates. A folder opens too, unless o.Write asks for EISDIR.
	Open(path string, o OpenOptions) (File, Errno)
	// Stat describes what path names; a symbolic link itself unless follow.
	Stat(path string, follow bool) (Stat, Errno)
	// Mkdir makes one folder.
	Mkdir(path string) Errno
	// Rename moves from to to and replaces a file, or an empty folder by a folder.
	Rename(from, to string) Errno
	// Unlink removes what is not a folder (EISDIR).
	Unlink(path string) Errno
	// Rmdir removes an empty folder (ENOTEMPTY).
	Rmdir(path string) Errno
	// Symlink makes a symbolic link at path with that target.
	Symlink(target, path string) Errno
	// Readlink returns the target of a symbolic link; EINVAL if path is none.
	Readlink(path string) (string, Errno)
	// Link gives a file a second name.
	Link(from, to string, follow bool) Errno
	// Chtimes sets the times of what path names; of a symbolic link itself unless follow.
	Chtimes(path string, t Times, follow bool) Errno
}

// OpenOptions say how Tree.Open opens. The zero value opens what exists, for nothing but Stat.
type OpenOptions struct {
	Read, Write bool // access; a file opened without Read still has a Stat
	Create      bool // make a file if nothing is there
	Exclusive   bool // with Create: fail with EEXIST if something is there
	Truncate    bool // cut a file to nothing; needs Write
	Directory   bool // fail with ENOTDIR if it is not a folder
	NoFollow    bool // fail with ELOOP if the last part is a symbolic link
}

// File is an open file or folder. It has no position: the descriptor holds it. It serves one
// goroutine at a time. What makes no sense for its kind answers EISDIR, ENOTDIR or EBADF.
type File interface {
	// Path is where the file is, without links. A folder's path follows renames made in its Tree.
	Path() string
	// Stat describes the open file.
	Stat() (Stat, Errno)
	// ReadAt reads at most len(p) bytes at off; 0 bytes and success is the end.
	ReadAt(p []byte, off int64) (int, Errno)
	// WriteAt writes p at off.
	WriteAt(p []byte, off int64) (int, Errno)
	// Append writes p at the end, atomically where the system can.
	Append(p []byte) (int, Errno)
	// Truncate cuts or extends the file to size bytes.
	Truncate(size int64) Errno
	// Sync brings what was written to the disk.
	Sync() Errno
	// Chtimes sets the times of the open file.
	Chtimes(t Times) Errno
	// ReadDir returns at most n more entries of a folder in no fixed order, without "." and "..";
	// none and success is the end.
	ReadDir(n int) ([]DirEntry, Errno)
	// Rewind makes ReadDir begin again with what is there now.
	Rewind() Errno
	// Close ends the use of the file. It is called once.
	Close() Errno
}

// Filetype is the kind of a file, in WASI's numbers.
type Filetype uint8

// The kinds of files.
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

// Times are the times to set, in nanoseconds since 1970; nil leaves one as it is.
type Times struct {
	Atime, Mtime *int64
}

// DirEntry is one name in a folder. Ino may be 0, unknown.
type DirEntry struct {
	Name string
	Type Filetype
	Ino  uint64
}
