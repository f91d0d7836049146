package wasi

// emptyTree is the Tree of a call without files: one empty folder.
type emptyTree struct{}

func (emptyTree) isRoot(path string) bool {
	for len(path) > 0 {
		switch {
		case path[0] == '/':
			path = path[1:]
		case path == "." || path == "..":
			return true
		case len(path) > 1 && path[:2] == "./":
			path = path[2:]
		case len(path) > 2 && path[:3] == "../":
			path = path[3:]
		default:
			return false
		}
	}
	return true
}

// onRoot returns the error of a change: e for the folder itself, missing for other paths.
func (t emptyTree) onRoot(path string, e, missing Errno) Errno {
	if t.isRoot(path) {
		return e
	}
	return missing
}

func (t emptyTree) Open(path string, o OpenOptions) (File, Errno) {
	switch {
	case t.isRoot(path) && o.Create && o.Exclusive:
		return nil, EEXIST
	case t.isRoot(path) && o.Write:
		return nil, EISDIR
	case t.isRoot(path):
		return emptyDir{}, ESUCCESS
	case o.Create:
		return nil, EROFS
	}
	return nil, ENOENT
}

func (t emptyTree) Stat(path string, _ bool) (Stat, Errno) {
	if !t.isRoot(path) {
		return Stat{}, ENOENT
	}
	return emptyDir{}.Stat()
}

func (t emptyTree) Mkdir(path string) Errno           { return t.onRoot(path, EEXIST, EROFS) }
func (t emptyTree) Rename(from, _ string) Errno       { return t.onRoot(from, EBUSY, ENOENT) }
func (t emptyTree) Unlink(path string) Errno          { return t.onRoot(path, EISDIR, ENOENT) }
func (t emptyTree) Rmdir(path string) Errno           { return t.onRoot(path, EBUSY, ENOENT) }
func (t emptyTree) Symlink(_, path string) Errno      { return t.onRoot(path, EEXIST, EROFS) }
func (t emptyTree) Link(from, _ string, _ bool) Errno { return t.onRoot(from, EPERM, ENOENT) }

func (t emptyTree) Readlink(path string) (string, Errno) {
	return "", t.onRoot(path, EINVAL, ENOENT)
}

func (t emptyTree) Chtimes(path string, _ Times, _ bool) Errno {
	return t.onRoot(path, EROFS, ENOENT)
}

// emptyDir is the only folder of an emptyTree.
type emptyDir struct{}

func (emptyDir) Path() string                       { return "/" }
func (emptyDir) Stat() (Stat, Errno)                { return Stat{Ino: 1, Nlink: 1, Type: TypeDirectory}, ESUCCESS }
func (emptyDir) ReadAt([]byte, int64) (int, Errno)  { return 0, EISDIR }
func (emptyDir) WriteAt([]byte, int64) (int, Errno) { return 0, EISDIR }
func (emptyDir) Append([]byte) (int, Errno)         { return 0, EISDIR }
func (emptyDir) Truncate(int64) Errno               { return EISDIR }
func (emptyDir) Sync() Errno                        { return ESUCCESS }
func (emptyDir) Chtimes(Times) Errno                { return EROFS }
func (emptyDir) ReadDir(int) ([]DirEntry, Errno)    { return nil, ESUCCESS }
func (emptyDir) Rewind() Errno                      { return ESUCCESS }
func (emptyDir) Close() Errno                       { return ESUCCESS }
