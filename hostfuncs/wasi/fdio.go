package wasi

import "math"

// fdRead reads from a descriptor at its position.
//
//	fd_read(fd i32, iovs ptr, count i32, result ptr) -> errno
//
//	iovs ─▶ [ptr, len][ptr, len]…    result: bytes read, 0 is the end
//
// EBADF, EISDIR, EINVAL more than 1024 buffers, EFAULT, EAGAIN (NONBLOCK), ECANCELED, EIO. One call moves at most
// 16 MiB.
func fdRead(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if d != nil && d.stream != nil {
		return c.transfer(p[1], p[2], p[3], func(b []byte) (int, Errno) {
			return d.stream.read(c.ctx, b, d.flags&flagNonblock != 0)
		})
	}
	f, e := d.regular()
	if e != ESUCCESS {
		return e
	}
	return c.transfer(p[1], p[2], p[3], func(b []byte) (int, Errno) {
		n, e := f.ReadAt(b, d.offset)
		d.offset += int64(n)
		return n, e
	})
}

// fdPread reads from a file at an offset; the position is unchanged.
//
//	fd_pread(fd i32, iovs ptr, count i32, offset i64, result ptr) -> errno    as fd_read, ESPIPE
func fdPread(c call, p []uint64) Errno {
	f, e := c.files.get(uint32(p[0])).regular()
	switch {
	case e != ESUCCESS:
		return e
	case p[3] > math.MaxInt64:
		return EINVAL
	}
	off := int64(p[3])
	return c.transfer(p[1], p[2], p[4], func(b []byte) (int, Errno) {
		n, e := f.ReadAt(b, off)
		off += int64(n)
		return n, e
	})
}

// fdWrite writes to a descriptor at its position, or at the end (APPEND).
//
//	fd_write(fd i32, iovs ptr, count i32, result ptr) -> errno    as fd_read, EPIPE, ENOSPC
func fdWrite(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	if d != nil && d.stream != nil {
		return c.transfer(p[1], p[2], p[3], func(b []byte) (int, Errno) {
			return d.stream.write(c.ctx, b, d.flags&flagNonblock != 0)
		})
	}
	if _, e := d.regular(); e != ESUCCESS {
		return e
	}
	e := c.transfer(p[1], p[2], p[3], d.write)
	return d.afterWrite(e)
}

// fdPwrite writes to a file at an offset; the position is unchanged.
//
//	fd_pwrite(fd i32, iovs ptr, count i32, offset i64, result ptr) -> errno    as fd_write, ESPIPE
func fdPwrite(c call, p []uint64) Errno {
	d := c.files.get(uint32(p[0]))
	f, e := d.regular()
	switch {
	case e != ESUCCESS:
		return e
	case p[3] > math.MaxInt64:
		return EINVAL
	}
	off := int64(p[3])
	e = c.transfer(p[1], p[2], p[4], func(b []byte) (int, Errno) {
		if off > math.MaxInt64-int64(len(b)) {
			return 0, EFBIG
		}
		n, e := f.WriteAt(b, off)
		off += int64(n)
		return n, e
	})
	return d.afterWrite(e)
}

func (d *descriptor) write(b []byte) (int, Errno) {
	if d.flags&flagAppend != 0 {
		n, e := d.file.Append(b)
		if st, serr := d.file.Stat(); n > 0 && serr == ESUCCESS {
			d.offset = st.Size
		}
		return n, e
	}
	if d.offset > math.MaxInt64-int64(len(b)) {
		return 0, EFBIG
	}
	n, e := d.file.WriteAt(b, d.offset)
	d.offset += int64(n)
	return n, e
}

// afterWrite flushes the file if it has the SYNC or DSYNC flag.
func (d *descriptor) afterWrite(e Errno) Errno {
	if e == ESUCCESS && d.flags&(flagSync|flagDsync) != 0 {
		return d.file.Sync()
	}
	return e
}

// transfer moves the buffers in order until one is moved in part, and writes the total to result. After an error, the
// bytes moved before it are reported, and the next call returns the error.
func (c call) transfer(iovs, count, result uint64, move func([]byte) (int, Errno)) Errno {
	buffers, e := c.vectors(iovs, count)
	if e != ESUCCESS {
		return e
	}
	if e := c.writable(result, 4); e != ESUCCESS {
		return e
	}
	if len(buffers) == 0 {
		_, e = move(nil) // a wrong access mode is an error without bytes too
	}
	total := 0
	for _, b := range buffers {
		var n int
		n, e = move(b)
		total += n
		if e != ESUCCESS || n < len(b) {
			break
		}
	}
	if e != ESUCCESS && total == 0 {
		return e
	}
	return c.put32(result, uint32(total))
}
