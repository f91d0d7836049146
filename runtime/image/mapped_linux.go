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

// file holds the contents of an image in sealed memory files, which are immutable. It is also mapped for reading, as
// the source of page copies. The zero file is empty.
type file struct {
	fd    int    // of the contents that are in no other file; 0 for none
	parts []part // a later one covers an earlier one
	view  []byte
}

// part is a range of contents, at the same offsets of a memory file.
type part struct {
	span
	fd int
}

const (
	// chunk is the size of a WebAssembly page, in bytes.
	chunk = 64 << 10
	// hole is the unit of writing, in bytes, a page of most systems: what is zero takes no memory. A fifth of the pages
	// of a Go guest are zero among others.
	hole = 4 << 10
	// maxParts limits the ranges of an image that are not in the first one of its family. Each takes two of the 65530
	// mappings that a process may have, in each memory.
	maxParts = 8
)

// newFile returns a file with the contents, and the memory that it takes. With a base, a file of one part, it takes that of
// the pages that differ, and base has to stay open.
func newFile(contents []byte, base *file) (f file, held uint64, err error) {
	if len(contents) == 0 {
		return file{}, 0, nil
	}
	defer func() {
		if err != nil {
			f.close()
			f, err = file{}, fmt.Errorf("image: %w", err)
		}
	}()
	own := []span{{0, len(contents)}}
	if base != nil {
		if own, err = base.differences(contents); err != nil {
			return f, 0, err
		}
		if end := min(len(contents), len(base.view)); end > 0 {
			f.parts = append(f.parts, part{span{0, end}, base.fd})
		}
	}
	if len(own) > 0 {
		if f.fd, held, err = seal(contents, own); err != nil {
			return f, 0, err
		}
		for _, s := range own {
			f.parts = append(f.parts, part{s, f.fd})
		}
	}
	f.view, err = f.lay(uint64(len(contents)), unix.PROT_READ)
	return f, held, err
}

// again returns a file with the contents of f, which has to stay open.
func (f *file) again() (same file, err error) {
	same.parts = f.parts
	same.view, err = same.lay(uint64(len(f.view)), unix.PROT_READ)
	return same, err
}

// seal returns a memory file with some ranges of the contents, and the memory that it takes.
func seal(contents []byte, ranges []span) (fd int, held uint64, err error) {
	fd, err = unix.MemfdCreate("sallyport-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, 0, err
	}
	err = unix.Ftruncate(fd, int64(len(contents)))
	for _, s := range ranges {
		if err == nil {
			var n uint64
			n, err = fill(fd, contents, s)
			held += n
		}
	}
	if err == nil {
		const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		_ = unix.Close(fd)
		return 0, 0, err
	}
	return fd, held, nil
}

// differences returns at most maxParts ranges in which the contents differ from the file, of one part, and from zeros
// behind its end.
func (f *file) differences(contents []byte) ([]span, error) {
	grain := max(hole, unix.Getpagesize())
	page := make([]byte, chunk) // the file is not read by its mapping, where its zeros would begin to take memory
	var all []span
	for at := 0; at < len(contents); at += chunk {
		clear(page)
		if at < len(f.view) {
			if _, err := unix.Pread(f.fd, page, int64(at)); err != nil {
				return nil, err
			}
		}
		if here := contents[at : at+chunk]; !bytes.Equal(here, page) {
			for in := 0; in < chunk; in += grain {
				if !bytes.Equal(here[in:in+grain], page[in:in+grain]) {
					all = append(all, span{at + in, at + in + grain})
				}
			}
		}
	}
	return joined(all, maxParts), nil
}

// fill writes the pages of a range that are not zero, those in a row together, and returns their size.
func fill(fd int, contents []byte, s span) (written uint64, err error) {
	zero := make([]byte, hole)
	empty := func(at int) bool { return bytes.Equal(contents[at:at+hole], zero) }
	for at := s.from; at < s.to; {
		if empty(at) {
			at += hole
			continue
		}
		end := at + hole
		for end < s.to && !empty(end) {
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
	if f.view != nil {
		release(f.view)
	}
	if f.fd != 0 {
		_ = unix.Close(f.fd) // existing mappings of it stay valid
	}
}

// reserve maps limit bytes, at least those of the file, which are at the start.
func reserve(limit uint64, f file) ([]byte, error) {
	buf, err := f.lay(max(roundUp(limit), chunk), unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	if err := smallPages(buf); err != nil { // for all mappings
		release(buf)
		return nil, err
	}
	return buf, nil
}

// lay maps limit bytes, at least those of the file, which are at the start.
func (f file) lay(limit uint64, prot int) ([]byte, error) {
	const private = unix.MAP_PRIVATE | unix.MAP_NORESERVE
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(limit), prot, private|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes: %w", limit, err)
	}
	buf := unsafe.Slice((*byte)(p), limit)
	for _, at := range f.parts {
		if _, err := unix.MmapPtr(at.fd, int64(at.from), unsafe.Pointer(&buf[at.from]), uintptr(at.to-at.from), prot, private|unix.MAP_FIXED); err != nil {
			release(buf)
			return nil, fmt.Errorf("map the image: %w", err)
		}
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
