package overlay

import (
	"errors"
	"io"
	"os"
	goruntime "runtime"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// maxInMemory is the maximum size of a content in memory, in bytes. A larger one is kept in a file.
const maxInMemory = 1 << 20

// content holds the bytes of a file that the call wrote.
type content struct {
	mem  []byte
	f    *os.File // nil while the content is in memory
	size int64
	part *part
	host string // path where it was written first
}

func (c *content) readAt(p []byte, off int64) (int, wasi.Errno) {
	if off >= c.size {
		return 0, wasi.ESUCCESS
	}
	p = p[:min(int64(len(p)), c.size-off)]
	if c.f == nil {
		return copy(p, c.mem[off:]), wasi.ESUCCESS
	}
	n, err := c.f.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, wasi.EIO
	}
	return n, wasi.ESUCCESS
}

// ReadAt implements io.ReaderAt for the landing.
func (c *content) ReadAt(p []byte, off int64) (int, error) {
	n, e := c.readAt(p, off)
	if e != wasi.ESUCCESS {
		return n, e
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (c *content) writeAt(p []byte, off int64) (int, error) {
	if c.f != nil {
		n, err := c.f.WriteAt(p, off)
		c.size = max(c.size, off+int64(n))
		return n, err
	}
	c.resize(max(c.size, off+int64(len(p))))
	return copy(c.mem[off:], p), nil
}

// resize truncates or extends a content in memory.
func (c *content) resize(size int64) {
	if grow := size - int64(len(c.mem)); grow > 0 {
		c.mem = append(c.mem, make([]byte, grow)...)
	}
	clear(c.mem[min(size, int64(len(c.mem))):])
	c.mem, c.size = c.mem[:size], size
}

func (c *content) truncate(size int64) error {
	if c.f == nil {
		c.resize(size)
		return nil
	}
	if err := c.f.Truncate(size); err != nil {
		return err
	}
	c.size = size
	return nil
}

// spill moves the content to a file in dir. Except on Windows the file is unlinked at once, so that nothing remains if
// the process dies.
func (c *content) spill(dir string) error {
	if c.f != nil {
		return nil
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(dir, "content-")
	if err != nil {
		return err
	}
	if goruntime.GOOS != "windows" {
		_ = os.Remove(f.Name())
	}
	if _, err := f.WriteAt(c.mem, 0); err != nil {
		discard(f)
		return err
	}
	c.f, c.mem = f, nil
	return nil
}

func (c *content) drop() {
	if c.f != nil {
		discard(c.f)
	}
	c.f, c.mem, c.size = nil, nil, 0
}

func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name()) // fails if the file was unlinked at once
}
