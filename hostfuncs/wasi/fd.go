package wasi

import "math"

// fdClose closes a descriptor.
//
//	fd_close(fd i32) -> errno    EBADF
func fdClose(c call, p []uint64) Errno { return c.files.close(uint32(p[0])) }

// fdRenumber closes the descriptor to and renumbers from to it. Both must be open.
//
//	fd_renumber(from, to i32) -> errno    EBADF
func fdRenumber(c call, p []uint64) Errno { return c.files.move(uint32(p[0]), uint32(p[1])) }

// fdAdvise ignores the hint on the use of a file.
//
//	fd_advise(fd i32, offset, len i64, advice i32) -> errno    EBADF, ESPIPE, EISDIR, EINVAL
func fdAdvise(c call, p []uint64) Errno {
	if _, e := c.files.get(uint32(p[0])).regular(); e != ESUCCESS {
		return e
	}
	const lastAdvice = 5 // noreuse
	if p[3] > lastAdvice {
		return EINVAL
	}
	return ESUCCESS
}

// fdAllocate extends a file to at least offset+len bytes. It reserves no space on disk.
//
//	fd_allocate(fd i32, offset, len i64) -> errno    EBADF, ESPIPE, EISDIR, EINVAL, EFBIG
func fdAllocate(c call, p []uint64) Errno {
	f, e := c.files.get(uint32(p[0])).regular()
	switch {
	case e != ESUCCESS:
		return e
	case p[1] > math.MaxInt64 || p[2] > math.MaxInt64 || p[2] == 0:
		return EINVAL
	case p[1]+p[2] > math.MaxInt64:
		return EFBIG
	}
	st, e := f.Stat()
	if e != ESUCCESS || st.Size >= int64(p[1]+p[2]) {
		return e
	}
	return f.Truncate(int64(p[1] + p[2]))
}

// fdSync flushes a file to disk. It also implements fd_datasync.
//
//	fd_sync(fd i32) -> errno    EBADF, EINVAL for a stream, EIO
func fdSync(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	switch {
	case d == nil:
		return EBADF
	case d.file == nil:
		return EINVAL
	}
	return d.file.Sync()
}

// fdFdstatGet writes the description of a descriptor: 24 bytes.
//
//	fd_fdstat_get(fd i32, result ptr) -> errno    EBADF, EFAULT
//
//	0 filetype u8 · 2 flags u16 · 8 rights u64 · 16 inheriting rights u64
func fdFdstatGet(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if d == nil {
		return EBADF
	}
	var b [24]byte
	b[0] = byte(d.filetype())
	le.PutUint16(b[2:], d.flags)
	le.PutUint64(b[8:], d.rights)
	le.PutUint64(b[16:], d.inherit)
	return c.put(p[1], b[:])
}

// fdFdstatSetFlags sets the flags of a descriptor. NONBLOCK has an effect on descriptors 0 to 2; APPEND, DSYNC and SYNC
// on files.
//
//	fd_fdstat_set_flags(fd, flags i32) -> errno    EBADF, EINVAL unknown flag
func fdFdstatSetFlags(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	switch {
	case d == nil:
		return EBADF
	case p[1]&^uint64(flagsAll) != 0:
		return EINVAL
	}
	d.flags = uint16(p[1])
	return ESUCCESS
}

// fdFdstatSetRights returns ENOTSUP, since rights are not enforced.
//
//	fd_fdstat_set_rights(fd i32, rights, inheriting i64) -> errno    EBADF, ENOTSUP
func fdFdstatSetRights(c call, p []uint64) Errno {
	if c.files.get(uint32(p[0])) == nil {
		return EBADF
	}
	return ENOTSUP
}

// fdSeek sets the position of a file. A folder has none.
//
//	fd_seek(fd i32, delta i64, whence i32, result ptr) -> errno    EBADF, ESPIPE, EISDIR, EINVAL, EFAULT
//
// whence: 0 from the start, 1 from here, 2 from the end.
func fdSeek(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if _, e := d.regular(); e != ESUCCESS {
		return e
	}
	if e := c.writable(p[3], 8); e != ESUCCESS {
		return e
	}
	to, e := d.seek(int64(p[1]), p[2])
	if e != ESUCCESS {
		return e
	}
	d.offset = to
	return c.put64(p[3], uint64(to))
}

func (d *descriptor) seek(delta int64, whence uint64) (int64, Errno) {
	var base int64
	switch whence {
	case 0:
	case 1:
		base = d.offset
	case 2:
		st, e := d.file.Stat()
		if e != ESUCCESS {
			return 0, e
		}
		base = st.Size
	default:
		return 0, EINVAL
	}
	to := base + delta
	if delta > 0 && to < base || to < 0 {
		return 0, EINVAL
	}
	return to, ESUCCESS
}

// fdTell writes the position of a file.
//
//	fd_tell(fd i32, result ptr) -> errno    EBADF, ESPIPE, EISDIR, EFAULT
func fdTell(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if _, e := d.regular(); e != ESUCCESS {
		return e
	}
	return c.put64(p[1], uint64(d.offset))
}
