//go:build !portable

package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// The memory of a process includes its images, of which no page was touched, once each.
func TestImagesOf_countsEachImageOnce(t *testing.T) {
	const size = 8 << 20
	before := imagesOf(os.Getpid())
	var f image.Family
	for range 3 {
		i := f.New(bytes.Repeat([]byte{1}, size), image.Map)
		defer i.Close()
		if got := imagesOf(os.Getpid()) - before; got != size {
			t.Errorf("got %d bytes of images, want %d", got, size)
		}
	}
}
