package wasi

import "math"

// Bits of fstflags: the times to set, to a given value or to now.
const (
	setAtime    = 1 << 0
	setAtimeNow = 1 << 1
	setMtime    = 1 << 2
	setMtimeNow = 1 << 3
)

// fdFilestatGet writes the description of an open file: 64 bytes. A stream has type unknown and no times.
//
//	fd_filestat_get(fd i32, result ptr) -> errno    EBADF, EFAULT
//
//	0 device u64 · 8 inode u64 · 16 filetype u8 · 24 links u64 · 32 size u64 · 40 atime · 48 mtime · 56 ctime
func fdFilestatGet(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if d == nil {
		return EBADF
	}
	st := Stat{Ino: p[0], Nlink: 1}
	if d.file != nil {
		var e Errno
		if st, e = d.file.Stat(); e != ESUCCESS {
			return e
		}
	}
	return c.putStat(p[1], st)
}

func (c call) putStat(ptr uint64, st Stat) Errno {
	var b [64]byte
	le.PutUint64(b[0:], st.Dev)
	le.PutUint64(b[8:], st.Ino)
	b[16] = byte(st.Type)
	le.PutUint64(b[24:], st.Nlink)
	le.PutUint64(b[32:], uint64(st.Size))
	le.PutUint64(b[40:], uint64(st.Atime))
	le.PutUint64(b[48:], uint64(st.Mtime))
	le.PutUint64(b[56:], uint64(st.Ctime))
	return c.put(ptr, b[:])
}

// fdFilestatSetSize changes the size of a file.
//
//	fd_filestat_set_size(fd i32, size i64) -> errno    EBADF, EINVAL, EISDIR, EFBIG
func fdFilestatSetSize(c call, p []uint64) Errno {
	f, e := c.files.get(uint32(p[0])).regular()
	switch {
	case e == ESPIPE:
		return EINVAL
	case e != ESUCCESS:
		return e
	case p[1] > math.MaxInt64:
		return EINVAL
	}
	return f.Truncate(int64(p[1]))
}

// fdFilestatSetTimes sets the times of an open file.
//
//	fd_filestat_set_times(fd i32, atime, mtime i64, fstflags i32) -> errno    EBADF, EINVAL
func fdFilestatSetTimes(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if d == nil {
		return EBADF
	}
	t, e := c.times(p[1], p[2], p[3])
	switch {
	case e != ESUCCESS:
		return e
	case d.file == nil:
		return EINVAL
	}
	return d.file.Chtimes(t)
}

// pathFilestatGet writes the description of the object at a path; bit 0 of flags follows a symbolic link.
//
//	path_filestat_get(fd, flags i32, path ptr, len i32, result ptr) -> errno
func pathFilestatGet(c call, p []uint64) Errno {
	path, e := c.path(p[0], p[2], p[3])
	if e != ESUCCESS {
		return e
	}
	st, e := c.Tree().Stat(path, p[1]&lookupFollow != 0)
	if e != ESUCCESS {
		return e
	}
	return c.putStat(p[4], st)
}

// pathFilestatSetTimes sets the times of the object at a path; bit 0 of flags follows a symbolic link.
//
//	path_filestat_set_times(fd, flags i32, path ptr, len i32, atime, mtime i64, fstflags i32) -> errno
func pathFilestatSetTimes(c call, p []uint64) Errno {
	path, e := c.path(p[0], p[2], p[3])
	if e != ESUCCESS {
		return e
	}
	t, e := c.times(p[4], p[5], p[6])
	if e != ESUCCESS {
		return e
	}
	return c.Tree().Chtimes(path, t, p[1]&lookupFollow != 0)
}

func (c call) times(atime, mtime, flags uint64) (t Times, e Errno) {
	if flags >= setMtimeNow<<1 {
		return t, EINVAL
	}
	now, _ := c.clock(clockRealtime)
	if t.Atime, e = pickTime(atime, now, flags&setAtime != 0, flags&setAtimeNow != 0); e != ESUCCESS {
		return t, e
	}
	t.Mtime, e = pickTime(mtime, now, flags&setMtime != 0, flags&setMtimeNow != 0)
	return t, e
}

func pickTime(given uint64, now int64, set, setNow bool) (*int64, Errno) {
	at := int64(given)
	switch {
	case set && setNow:
		return nil, EINVAL
	case setNow:
		return &now, ESUCCESS
	case set:
		return &at, ESUCCESS
	}
	return nil, ESUCCESS
}
