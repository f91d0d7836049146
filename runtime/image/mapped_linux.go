//go:build linux && !portable

package image

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping tells whether memories can be mappings of their image.
const mapping = true

// file holds the contents of an image, sealed: nobody can change them any more. It is mapped for reading too, since
// that is where pages are copied from. The zero file is empty.
type file struct {
	fd   int // 0 if there is none
	view []byte
}

// chunk is what is written at once: what is zero stays a hole.
const chunk = 64 << 10

func newFile(contents []byte) (f file, err error) {
	if len(contents) == 0 {
		return file{}, nil
	}
	fd, err := unix.MemfdCreate("sallyport-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return file{}, fmt.Errorf("image: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
			f, err = file{}, fmt.Errorf("image: %w", err)
		}
	}()
	if err := unix.Ftruncate(fd, int64(len(contents))); err != nil {
		return file{}, err
	}
	if err := fill(fd, contents); err != nil {
		return file{}, err
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return file{}, err
	}
	view, err := unix.Mmap(fd, 0, len(contents), unix.PROT_READ, unix.MAP_PRIVATE)
	return file{fd, view}, err
}

// fill writes what is not zero.
func fill(fd int, contents []byte) error {
	zero := make([]byte, chunk)
	for at := 0; at < len(contents); at += chunk {
		p := contents[at:min(at+chunk, len(contents))]
		for off := int64(at); len(p) > 0 && !bytes.Equal(p, zero[:len(p)]); {
			n, err := unix.Pwrite(fd, p, off)
			if err != nil {
				return err
			}
			p, off = p[n:], off+int64(n)
		}
	}
	return nil
}

func (f file) read(p []byte) { copy(p, f.view) }

// readAt copies the contents from an offset.
func (f file) readAt(p []byte, from int) bool { return copy(p, f.view[from:]) == len(p) }

func (f file) close() {
	if f.fd != 0 {
		_ = unix.Munmap(f.view)
		_ = unix.Close(f.fd) // the mappings that were made of it stay
	}
}

// reserve maps limit bytes, the first size of which show the file.
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
		err = smallPages(buf) // of both mappings
	}
	if err != nil {
		release(buf)
		return nil, fmt.Errorf("map the image: %w", err)
	}
	return buf, nil
}

// smallPages keeps the kernel from putting a huge page in the place of small ones. It does so when it likes, and then
// pages can be written that nobody has written before, without a page fault. A kernel without huge pages says EINVAL.
func smallPages(buf []byte) error {
	if err := unix.Madvise(buf, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("keep pages small: %w", err)
	}
	return nil
}

// roundUp makes n a multiple of a WebAssembly page, which is one of the system's too.
func roundUp(n uint64) uint64 { return (n + chunk - 1) / chunk * chunk }

// giveBack makes a mapping what it was at first.
func giveBack(p []byte) error {
	if err := unix.Madvise(p, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}

func release(buf []byte) {
	// The only error is a wrong address.
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(buf)), uintptr(len(buf)))
}
