//go:build linux && !portable

package image

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Contents that differ everywhere are not a family, and the number of mappings stays bounded.
func TestFamily_boundsThePartsOfAnImage(t *testing.T) {
	base := make([]byte, 64*chunk)
	for at := range base {
		base[at] = byte(at>>12) | 1
	}
	var f Family
	first := f.New(base, Map)
	defer first.Close()
	changed := append([]byte(nil), base...)
	for at := 0; at < 20*chunk; at += chunk {
		changed[at]++
	}
	i := f.New(changed, Map)
	defer i.Close()
	if got := len(i.file.parts); got < 2 || got > 1+maxParts {
		t.Errorf("got %d parts, want 2 to %d", got, 1+maxParts)
	}
	var st unix.Stat_t
	if err := unix.Fstat(i.file.fd, &st); err != nil {
		t.Fatal(err)
	}
	if got := uint64(st.Blocks) * 512; got != i.Resident() {
		t.Errorf("got a file of %d bytes, want those of Resident, %d", got, i.Resident())
	}
}
