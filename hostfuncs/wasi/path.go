package wasi

// lookupFollow is the only lookup flag: follow a symbolic link at the end of a path.
const lookupFollow = 1

// Bits of oflags.
const (
	openCreate    = 1 << 0
	openDirectory = 1 << 1
	openExclusive = 1 << 2
	openTruncate  = 1 << 3
)

// pathOpen opens or creates a file, or opens a folder, with the lowest free descriptor. Rights determine the access
// mode: fd_write (bit 6) is writing, fd_read (bit 1) is reading.
//
//	path_open(fd, flags i32, path ptr, len, oflags i32, rights, inheriting i64, fdflags i32, result ptr) -> errno
//
// EBADF, ENOTDIR, ENOENT (also: not granted), EACCES (granted for reading only), EEXIST, EISDIR,
// ELOOP, EINVAL, EMFILE, EPERM a path that leaves its folder, ENAMETOOLONG, EILSEQ, EFAULT.
func pathOpen(c call, p []uint64) Errno {
	path, e := c.path(p[0], p[2], p[3])
	switch {
	case e != ESUCCESS:
		return e
	case p[4] >= openTruncate<<1 || p[7]&^uint64(flagsAll) != 0:
		return EINVAL
	case c.files.full():
		return EMFILE
	}
	if e := c.writable(p[8], 4); e != ESUCCESS {
		return e
	}
	d := &descriptor{flags: uint16(p[7]), rights: p[5] & rightsAll, inherit: p[6] & rightsAll}
	if e := d.open(c.Tree(), path, openOptions(p)); e != ESUCCESS {
		return e
	}
	fd, _ := c.files.add(d)
	return c.put32(p[8], fd)
}

func openOptions(p []uint64) OpenOptions {
	return OpenOptions{
		Read:      p[5]&rightsReading != 0,
		Write:     p[5]&rightWrite != 0 || p[4]&openTruncate != 0,
		Create:    p[4]&openCreate != 0,
		Exclusive: p[4]&openExclusive != 0,
		Truncate:  p[4]&openTruncate != 0,
		Directory: p[4]&openDirectory != 0,
		NoFollow:  p[1]&lookupFollow == 0,
	}
}

func (d *descriptor) open(t Tree, path string, o OpenOptions) Errno {
	if o.Directory && o.Create {
		return EINVAL
	}
	f, e := t.Open(path, o)
	if e != ESUCCESS {
		return e
	}
	st, e := f.Stat()
	if e != ESUCCESS {
		_ = f.Close()
		return e
	}
	if d.file, d.dir = f, st.Type == TypeDirectory; d.dir {
		d.rights &= rightsFolder
	}
	return ESUCCESS
}

// pathCreateDirectory creates a folder.
//
//	path_create_directory(fd i32, path ptr, len i32) -> errno
func pathCreateDirectory(c call, p []uint64) Errno { return c.onPath(p, c.Tree().Mkdir) }

// pathRemoveDirectory removes an empty folder.
//
//	path_remove_directory(fd i32, path ptr, len i32) -> errno    ENOTDIR, ENOTEMPTY
func pathRemoveDirectory(c call, p []uint64) Errno { return c.onPath(p, c.Tree().Rmdir) }

// pathUnlinkFile removes a file or a symbolic link.
//
//	path_unlink_file(fd i32, path ptr, len i32) -> errno    EISDIR
func pathUnlinkFile(c call, p []uint64) Errno { return c.onPath(p, c.Tree().Unlink) }

func (c call) onPath(p []uint64, f func(string) Errno) Errno {
	path, e := c.path(p[0], p[1], p[2])
	if e != ESUCCESS {
		return e
	}
	return f(path)
}

// pathRename moves a file or a folder, and may replace a file or an empty folder.
//
//	path_rename(fd i32, from ptr, len, newfd i32, to ptr, len i32) -> errno
func pathRename(c call, p []uint64) Errno {
	from, e := c.path(p[0], p[1], p[2])
	if e != ESUCCESS {
		return e
	}
	to, e := c.path(p[3], p[4], p[5])
	if e != ESUCCESS {
		return e
	}
	return c.Tree().Rename(from, to)
}

// pathLink creates a hard link; bit 0 of flags follows a symbolic link.
//
//	path_link(fd, flags i32, from ptr, len, newfd i32, to ptr, len i32) -> errno
func pathLink(c call, p []uint64) Errno {
	from, e := c.path(p[0], p[2], p[3])
	if e != ESUCCESS {
		return e
	}
	to, e := c.path(p[4], p[5], p[6])
	if e != ESUCCESS {
		return e
	}
	return c.Tree().Link(from, to, p[1]&lookupFollow != 0)
}

// pathSymlink creates a symbolic link; its target is any valid path text.
//
//	path_symlink(target ptr, len, fd i32, path ptr, len i32) -> errno
func pathSymlink(c call, p []uint64) Errno {
	target, e := c.text(p[0], p[1])
	if e != ESUCCESS {
		return e
	}
	path, e := c.path(p[2], p[3], p[4])
	if e != ESUCCESS {
		return e
	}
	return c.Tree().Symlink(target, path)
}

// pathReadlink writes the target of a symbolic link, truncated to the buffer, without a NUL.
//
//	path_readlink(fd i32, path ptr, len i32, buf ptr, size i32, result ptr) -> errno    EINVAL no link
func pathReadlink(c call, p []uint64) Errno {
	path, e := c.path(p[0], p[1], p[2])
	if e != ESUCCESS {
		return e
	}
	target, e := c.Tree().Readlink(path)
	if e != ESUCCESS {
		return e
	}
	target = target[:min(uint64(len(target)), p[4])]
	if e := c.put(p[3], []byte(target)); e != ESUCCESS {
		return e
	}
	return c.put32(p[5], uint32(len(target)))
}
