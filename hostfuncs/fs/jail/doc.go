// Package jail implements wasi.Tree over the granted part of the host's file system.
//
//	            mounts (literal prefixes of grants)          Decider (every path, every link hop)
//	                         │                                        │
//	guest path ──▶ walk: one component at a time, each folder held open as an os.Root ──▶ the object
//
// A path that is not granted does not exist: operations return ENOENT, and no listing contains it. The folders above a
// mount exist as read-only folders that list only the way to mounts.
//
// The operating system never follows a symbolic link here. The walk reads each link itself, maps its target to a path
// of the tree and has that path decided like any other. Every folder and file is opened through its parent folder, and
// the opened object is compared by device and inode with the object that was decided on, so that a link put in its
// place meanwhile is detected before any byte is read or written. Files are created exclusively, and truncated only
// after the comparison.
//
// A guest can use only files, folders and links. A fifo, a socket or a device can be examined with Stat and removed,
// but never opened (EACCES), so that no operation blocks on it.
//
// A Tree serves one call: New at its start, Close at its end.
package jail
