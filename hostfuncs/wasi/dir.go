package wasi

const (
	// direntSize is the fixed part of an entry that fd_readdir writes.
	direntSize = 24
	// dirBatch is the number of entries that are requested from a File at once.
	dirBatch = 256
	// maxDirEntries is the maximum number of entries kept for one open folder (about 100 MB at worst), since a guest
	// may return to any earlier cookie.
	maxDirEntries = 1 << 20
)

// listing contains the entries of an open folder read so far. Cookie n is the position after n entries, so it remains
// valid while the folder changes.
type listing struct {
	entries []DirEntry
	ended   bool
	begun   bool
}

// fdPrestatGet describes a preopened folder: 8 bytes, its kind (0, a folder) and the length of its
// name.
//
//	fd_prestat_get(fd i32, result ptr) -> errno    EBADF, EFAULT
func fdPrestatGet(c call, p []uint64) Errno {
	if d := c.files.get(uint32(p[0])); d == nil || !d.preopen {
		return EBADF
	}
	return c.put64(p[1], uint64(len("/"))<<32)
}

// fdPrestatDirName writes the name of a preopened folder, without a NUL.
//
//	fd_prestat_dir_name(fd i32, buf ptr, size i32) -> errno    EBADF, ENAMETOOLONG, EFAULT
func fdPrestatDirName(c call, p []uint64) Errno {
	if d := c.files.get(uint32(p[0])); d == nil || !d.preopen {
		return EBADF
	}
	if p[2] < uint64(len("/")) {
		return ENAMETOOLONG
	}
	return c.put(p[1], []byte("/"))
}

// fdReaddir writes the entries of a folder from a cookie on until the buffer is full; the last one may be truncated. A
// result below size means that there are no more.
//
//	fd_readdir(fd i32, buf ptr, size i32, cookie i64, result ptr) -> errno
//
//	0 next cookie u64 · 8 inode u64 · 16 name length u32 · 20 filetype u8 · 24 name
//
// EBADF, ENOTDIR, EINVAL an unknown cookie, ENOMEM over a million entries, EFAULT.
// Cookie 0 reads the folder again.
func fdReaddir(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	switch {
	case d == nil:
		return EBADF
	case !d.dir:
		return ENOTDIR
	}
	buf, e := c.bytes(p[1], p[2])
	if e != ESUCCESS {
		return e
	}
	if e := c.writable(p[4], 4); e != ESUCCESS {
		return e
	}
	n, e := d.readdir(c, buf, p[3])
	if e != ESUCCESS {
		return e
	}
	return c.put32(p[4], uint32(n))
}

func (d *descriptor) readdir(c call, buf []byte, cookie uint64) (int, Errno) {
	if cookie == 0 {
		if e := d.list.begin(d.file); e != ESUCCESS {
			return 0, e
		}
	}
	if !d.list.begun || cookie > uint64(len(d.list.entries)) {
		return 0, EINVAL
	}
	used := 0
	for used < len(buf) {
		if c.ctx.Err() != nil {
			return 0, ECANCELED
		}
		entry, e := d.list.at(d.file, cookie)
		if e != ESUCCESS || entry == nil {
			return used, e
		}
		cookie++
		used += putDirent(buf[used:], cookie, entry)
	}
	return used, ESUCCESS
}

// begin restarts the listing with the entries "." and "..".
func (l *listing) begin(f File) Errno {
	*l = listing{}
	if e := f.Rewind(); e != ESUCCESS {
		return e
	}
	st, e := f.Stat()
	if e != ESUCCESS {
		return e
	}
	l.begun = true
	l.entries = append(l.entries,
		DirEntry{Name: ".", Type: TypeDirectory, Ino: st.Ino},
		DirEntry{Name: "..", Type: TypeDirectory})
	return ESUCCESS
}

// at returns entry i; nil after the last.
func (l *listing) at(f File, i uint64) (*DirEntry, Errno) {
	for i >= uint64(len(l.entries)) && !l.ended {
		if len(l.entries) >= maxDirEntries {
			return nil, ENOMEM
		}
		more, e := f.ReadDir(dirBatch)
		if e != ESUCCESS {
			return nil, e
		}
		l.ended = len(more) == 0
		l.entries = append(l.entries, more...)
	}
	if i >= uint64(len(l.entries)) {
		return nil, ESUCCESS
	}
	return &l.entries[i], ESUCCESS
}

// putDirent writes an entry, truncated to len(b), and returns the number of bytes written.
func putDirent(b []byte, next uint64, entry *DirEntry) int {
	var head [direntSize]byte
	le.PutUint64(head[0:], next)
	le.PutUint64(head[8:], entry.Ino)
	le.PutUint32(head[16:], uint32(len(entry.Name)))
	head[20] = byte(entry.Type)
	n := copy(b, head[:])
	return n + copy(b[n:], entry.Name)
}
