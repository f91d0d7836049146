//go:build !unix

package system

import (
	"errors"
	"os"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// NoBlock is for fifos, which this system does not have in folders.
const NoBlock = 0

// Rename moves below one top, whose os.Root keeps the move inside; EXDEV if there is none.
func Rename(a, b Name) error {
	if a.Top == nil || a.Top != b.Top {
		return wasi.EXDEV
	}
	return a.Top.Rename(a.Path, b.Path)
}

// Link links below one top; EXDEV if there is none.
func Link(a, b Name) error {
	if a.Top == nil || a.Top != b.Top {
		return wasi.EXDEV
	}
	return a.Top.Link(a.Path, b.Path)
}

// SetTimesAt sets times of a name in a folder that is held open.
func SetTimesAt(root *os.Root, name string, times [2]int64) error {
	return root.Chtimes(name, time.Unix(0, times[0]), time.Unix(0, times[1]))
}

// SyncFolder does nothing: the system writes folders by itself.
func SyncFolder(*os.File) error { return nil }

// SetAppend is what this system cannot do with an open file.
func SetAppend(*os.File, bool) error { return errors.ErrUnsupported }
