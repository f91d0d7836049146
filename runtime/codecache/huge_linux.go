//go:build linux && !portable

package codecache

import (
	"os"
	"syscall"
	"unsafe"
)

// hugePages asks the kernel for huge pages behind p, which is written next: each takes one page fault in place of 512. A
// kernel without them leaves it as it is.
func hugePages(p []byte) {
	page := uintptr(os.Getpagesize())
	from := -uintptr(unsafe.Pointer(unsafe.SliceData(p))) % page
	if size := uintptr(len(p)); size > from {
		_ = syscall.Madvise(p[from:from+(size-from)/page*page], syscall.MADV_HUGEPAGE)
	}
}
