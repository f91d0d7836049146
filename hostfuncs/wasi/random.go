package wasi

import "io"

// randomChunk is the number of bytes between checks of the context.
const randomChunk = 1 << 20

// randomGet fills a buffer with random bytes.
//
//	random_get(buf ptr, size i32) -> errno    EFAULT, EIO, ECANCELED
func randomGet(c call, p []uint64) Errno {
	buf, e := c.bytes(p[0], p[1])
	if e != ESUCCESS {
		return e
	}
	for len(buf) > 0 {
		if c.ctx.Err() != nil {
			return ECANCELED
		}
		n := min(len(buf), randomChunk)
		if _, err := io.ReadFull(c.random, buf[:n]); err != nil {
			return EIO
		}
		buf = buf[n:]
	}
	return ESUCCESS
}
