package image_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// madvCollapse is MADV_COLLAPSE: what the kernel's own thread does by itself where huge pages are always on.
const madvCollapse = 25

// TestMemory_Restore_hugePages has the kernel put one huge page in the place of many small ones behind the image,
// while nothing runs: what is written to it afterwards makes no page fault, and is to be found all the same.
func TestMemory_Restore_hugePages(t *testing.T) {
	const huge, whole = 2 << 20, 8 << 20
	each(t, func(t *testing.T, way image.Way) {
		want := contents(1)
		i := image.New(want, way)
		defer i.Close()
		m := i.Memory(whole)
		defer m.Free()
		at := huge - int(uintptr(unsafe.Pointer(unsafe.SliceData(m.Bytes())))%huge) + huge // of the second whole huge page
		for round := range 20 {
			p := m.Reallocate(whole)
			p[at] = 1
			if err := m.Restore(); err != nil {
				t.Fatal(err)
			}
			if way != image.Copy {
				_ = unix.Madvise(m.Reallocate(whole)[at:at+huge], madvCollapse) // may be refused
			}
			m.Reallocate(whole)[at+huge/2] = 7
			if err := m.Restore(); err != nil {
				t.Fatal(err)
			}
			if m.Reallocate(whole)[at+huge/2] != 0 {
				t.Fatalf("round %d: what a call wrote is there in the next", round)
			}
			if err := m.Restore(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
