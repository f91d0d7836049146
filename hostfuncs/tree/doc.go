// Package tree shows a guest the granted part of the host's files as wasi.Tree.
//
//	            mounts (literal prefixes of grants)          Decider (every path, every link hop)
//	                         │                                        │
//	guest path ──▶ walk: one component at a time, each folder held open as an os.Root ──▶ the object
//
// What is not granted does not exist: it answers ENOENT, and no listing shows it. The folders above
// a mount exist as read-only ones that lead to mounts and show nothing else.
//
// The operating system never follows a symbolic link here. The walk reads each link itself, turns
// its target into a path of the tree and has that path decided like any other. Every folder and
// file is opened through the folder that holds it, and what was opened is compared with what was
// looked at and decided about (device and inode), so that a link put in its place meanwhile is
// noticed before a byte moves. Files are created exclusively, and cut only after the comparison.
//
// Only files, folders and links exist for a guest. A fifo, a socket or a device has a Stat and can
// be removed, but never opens (EACCES), and nothing waits for it.
//
// The package is for one call each: New at its start, Close at its end. It is internal to
// Sallyport and not promised to others.
package tree
