package image_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// madvCollapse is MADV_COLLAPSE, which does on request the work of the kernel's huge page thread.
const madvCollapse = 25

// TestMemory_restoreFindsWritesToHugePages makes the kernel replace small pages after the image by a huge one
// between two Restores: later writes to it cause no page fault, and must be found all the same.
func TestMemory_restoreFindsWritesToHugePages(t *testing.T) {
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
				t.Fatalf("round %d: got a byte of the call before, want 0", round)
			}
			if err := m.Restore(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Neither the part that maps the image nor the part after it gets huge pages.
func TestMemory_hasNoHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip(err)
	}
	each(t, func(t *testing.T, way image.Way) {
		if way == image.Copy {
			return
		}
		i := image.New(contents(1), way)
		defer i.Close()
		m := i.Memory(64 << 20)
		defer m.Free()
		text, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Skip(err)
		}
		found := 0
		for _, one := range regexp.MustCompile(`(?m)^[0-9a-f]+-`).Split(string(text), -1) {
			head, _, _ := strings.Cut(one, "\n")
			image := strings.Contains(head, "rw-p") && strings.Contains(head, "sallyport-image")
			behind := strings.Contains(one, "\nSize:              65472 kB")
			if !image && !behind {
				continue
			}
			found++
			if flags := one[strings.LastIndex(one, "VmFlags:"):]; !strings.Contains(flags, " nh") {
				t.Errorf("%s: got %s, want nh in it", head, flags)
			}
		}
		if found < 2 {
			t.Errorf("got %d mappings, want at least 2", found)
		}
	})
}
