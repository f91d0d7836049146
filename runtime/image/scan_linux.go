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

// region is struct page_region.
type region struct{ start, end, _ uint64 }

const (
	pagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)

	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
	pageIsZero    = 1 << 5 // the page of zeros that all processes share
)

// maxRegions is how many regions one system call tells; more of them take more calls.
const maxRegions = 256

// pagemap is what this process asks about its own pages.
var pagemap = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/pagemap") })

// regions are lent for one scan. They are on the heap: the kernel is told their address, which must not change.
var regions = sync.Pool{New: func() any { return new([maxRegions]region) }}

// written calls f with each range of a private mapping that has its own copy by now, in order, until f
// returns false. It tells whether f has seen all. A page has a copy if it is there, or in the swap, and is neither the
// file's nor the one of zeros.
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

// faults is how many page faults this process has had, of all its threads; false if that is not known. A page of a
// private mapping becomes a copy by a fault and in no other way, also where the kernel itself writes to it.
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

// counting tries out once whether the kernel counts the fault that a first write is.
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
	for at := 0; at < len(p) && ok; at += chunk { // pages of the image, and behind it
		p[at] = 1
		now, _ := countFaults()
		ok, last = now > last, now
	}
	return ok
})

// scanning tries the way out once: a kernel may be too old, or something between it and us may refuse.
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
	_ = m.Bytes()[chunk] // read, which is no reason to be found
	m.Bytes()[3*chunk], m.Bytes()[5*chunk] = 1, 1
	var at []int
	all, err := written(m.Bytes(), func(from, _ int) bool { at = append(at, from); return true })
	return err == nil && all && len(at) == 2 && at[0] == 3*chunk && at[1] == 5*chunk
})
