//go:build linux && !portable

package image

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// A page of zeros takes no memory, also among others, and the contents are whole.
func TestNewFile_leavesPagesOfZerosOut(t *testing.T) {
	contents := make([]byte, 4*chunk)
	for _, at := range []int{0, 2, 3, 4, 17, 62, 63} {
		contents[at*hole+at] = 1
	}
	f, held, err := newFile(contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		t.Fatal(err)
	}
	if got := st.Blocks * 512; got != 7*hole || held != 7*hole {
		t.Errorf("got a file that takes %d bytes, and %d as its size, want %d of seven pages", got, held, 7*hole)
	}
	if got := make([]byte, len(contents)); !f.readAt(got, 0) || !bytes.Equal(got, contents) {
		t.Error("got other contents, want those that the file was made of")
	}
}
