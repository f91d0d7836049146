//go:build linux && !portable

package image

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping reports whether memories can be mappings of their image.
const mapping = true

// file holds the contents of an image in a sealed memory file, which is immutable. It is also mapped for reading, as
// the source of page copies. The zero file is empty.
type file struct {
	fd   int // 0 if the file is empty
	view []byte
}

const (
	// chunk is the size of a WebAssembly page, in bytes.
	chunk = 64 << 10
	// hole is the unit of writing, in bytes, a page of most systems: what is zero takes no memory. A fifth of the pages
	// of a Go guest are zero among others.
	hole = 4 << 10
)

// newFile returns a file with the contents, and the memory that it takes.
func newFile(contents []byte) (f file, held uint64, err error) {
	if len(contents) == 0 {
		return file{}, 0, nil
	}
	fd, err := unix.MemfdCreate("sallyport-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return file{}, 0, fmt.Errorf("image: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
			f, err = file{}, fmt.Errorf("image: %w", err)
		}
	}()
	if err := unix.Ftruncate(fd, int64(len(contents))); err != nil {
		return file{}, 0, err
	}
	if held, err = fill(fd, contents); err != nil {
		return file{}, 0, err
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return file{}, 0, err
	}
	view, err := unix.Mmap(fd, 0, len(contents), unix.PROT_READ, unix.MAP_PRIVATE)
	return file{fd, view}, held, err
}

// fill writes the pages that are not zero, those in a row together, and returns their size.
func fill(fd int, contents []byte) (written uint64, err error) {
	zero := make([]byte, hole)
	empty := func(at int) bool { return bytes.Equal(contents[at:at+hole], zero) }
	for at := 0; at < len(contents); {
		if empty(at) {
			at += hole
			continue
		}
		end := at + hole
		for end < len(contents) && !empty(end) {
			end += hole
		}
		for at < end {
			n, err := unix.Pwrite(fd, contents[at:end], int64(at))
			if err != nil {
				return written, err
			}
			at, written = at+n, written+uint64(n)
		}
	}
	return written, nil
}

func (f file) read(p []byte) { copy(p, f.view) }

// readAt fills p with the contents from an offset; false means that they are too short.
func (f file) readAt(p []byte, from int) bool { return copy(p, f.view[from:]) == len(p) }

func (f file) close() {
	if f.fd != 0 {
		_ = unix.Munmap(f.view)
		_ = unix.Close(f.fd) // existing mappings of it stay valid
	}
}

// reserve maps limit bytes, the first size of which map the file.
func reserve(limit uint64, f file, size uint64) ([]byte, error) {
	const rw, private = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_NORESERVE
	limit = max(roundUp(limit), chunk)
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(limit), rw, private|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes: %w", limit, err)
	}
	buf := unsafe.Slice((*byte)(p), limit)
	if size > 0 {
		_, err = unix.MmapPtr(f.fd, 0, p, uintptr(size), rw, private|unix.MAP_FIXED)
	}
	if err == nil {
		err = smallPages(buf) // for both mappings
	}
	if err != nil {
		release(buf)
		return nil, fmt.Errorf("map the image: %w", err)
	}
	return buf, nil
}

// smallPages disables huge pages. The kernel could replace small pages by a huge one at any time, and then pages could
// be written for the first time without a page fault. A kernel without huge pages returns EINVAL.
func smallPages(buf []byte) error {
	if err := unix.Madvise(buf, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("keep pages small: %w", err)
	}
	return nil
}

// roundUp rounds n up to a multiple of a WebAssembly page, which is also a multiple of a system page.
func roundUp(n uint64) uint64 { return (n + chunk - 1) / chunk * chunk }

// giveBack resets a mapping to its original contents.
func giveBack(p []byte) error {
	if err := unix.Madvise(p, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}

func release(buf []byte) {
	// The only error is an invalid address.
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(buf)), uintptr(len(buf)))
}
