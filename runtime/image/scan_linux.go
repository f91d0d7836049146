//go:build linux && !portable

package image

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scanArg is struct pm_scan_arg of linux/fs.h.
type scanArg struct {
	size, flags                                            uint64
	start, end, walkEnd                                    uint64
	vec, vecLen, maxPages                                  uint64
	categoryInverted, categoryMask, categoryAny, returning uint64
}

// region is struct page_region of linux/fs.h.
type region struct{ start, end, _ uint64 }

const (
	pagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)

	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
	pageIsZero    = 1 << 5 // the shared zero page
)

// maxRegions bounds the regions returned by one system call.
const maxRegions = 256

// pagemap opens the page map of this process.
var pagemap = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/pagemap") })

// regions pools the result buffers of scans. They are on the heap, since the kernel receives their address, which must
// not change.
var regions = sync.Pool{New: func() any { return new([maxRegions]region) }}

// written calls f with each range of a private mapping that has private pages, in order, until f returns false. It
// reports whether f received all ranges. A page is private if it is present or swapped, and is neither a page of the
// file nor the zero page.
func written(p []byte, f func(from, to int) bool) (all bool, err error) {
	file, err := pagemap()
	if err != nil {
		return false, err
	}
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p))))
	found := regions.Get().(*[maxRegions]region)
	defer regions.Put(found)
	a := scanArg{
		size: uint64(unsafe.Sizeof(scanArg{})), start: base, end: base + uint64(len(p)),
		vec: uint64(uintptr(unsafe.Pointer(found))), vecLen: maxRegions,
		categoryInverted: pageIsFile | pageIsZero, categoryMask: pageIsFile | pageIsZero,
		categoryAny: pageIsPresent | pageIsSwapped, returning: pageIsPresent,
	}
	for a.start < a.end {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, file.Fd(), pagemapScan, uintptr(unsafe.Pointer(&a)))
		if errno != 0 {
			return false, fmt.Errorf("scan pages: %w", errno)
		}
		for _, r := range found[:min(int(n), maxRegions)] {
			if !f(int(r.start-base), int(r.end-base)) {
				return false, nil
			}
		}
		if a.walkEnd <= a.start {
			return false, errors.New("scan pages: no progress")
		}
		a.start = a.walkEnd
	}
	return true, nil
}

// faults returns the number of page faults of this process, in all threads; false if unknown. A page of a private
// mapping becomes a copy only by a fault, also if the kernel itself writes to it.
func faults() (n int64, ok bool) {
	if !counting() {
		return 0, false
	}
	return countFaults()
}

func countFaults() (n int64, ok bool) {
	var r unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &r)
	return int64(r.Minflt) + int64(r.Majflt), err == nil
}

// counting tests once whether the kernel counts the fault of a first write.
var counting = sync.OnceValue(func() bool {
	i := New(make([]byte, 2*chunk), Map)
	defer i.Close()
	m := i.Memory(4 * chunk)
	defer m.Free()
	p := m.Reallocate(4 * chunk)
	if i.Way() != Map || m.way != Map {
		return false
	}
	last, ok := countFaults()
	for at := 0; at < len(p) && ok; at += chunk { // pages of the image, and after its end
		p[at] = 1
		now, _ := countFaults()
		ok, last = now > last, now
	}
	return ok
})

// scanning tests once whether a scan works: the kernel may be too old, or a sandbox may deny the call.
var scanning = sync.OnceValue(func() bool {
	const pages = 8
	contents := make([]byte, pages*chunk)
	for i := range contents {
		contents[i] = byte(i >> 16)
	}
	i := New(contents, Scan)
	defer i.Close()
	if i.Way() != Scan {
		return false
	}
	m := i.Memory(0)
	defer m.Free()
	if m.way != Scan {
		return false
	}
	_ = m.Bytes()[chunk] // a read does not make a page private
	m.Bytes()[3*chunk], m.Bytes()[5*chunk] = 1, 1
	var at []int
	all, err := written(m.Bytes(), func(from, _ int) bool { at = append(at, from); return true })
	return err == nil && all && len(at) == 2 && at[0] == 3*chunk && at[1] == 5*chunk
})
