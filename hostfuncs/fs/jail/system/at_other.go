//go:build !unix

package system

import (
	"errors"
	"os"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// NoBlock is zero: this system has no fifos in folders.
const NoBlock = 0

// Rename moves an entry below one top folder. Its os.Root keeps the move inside. EXDEV is returned if the names have
// no common top folder.
func Rename(a, b Name) error {
	if a.Top == nil || a.Top != b.Top {
		return wasi.EXDEV
	}
	return a.Top.Rename(a.Path, b.Path)
}

// Link links below one top folder. EXDEV is returned if the names have none in common.
func Link(a, b Name) error {
	if a.Top == nil || a.Top != b.Top {
		return wasi.EXDEV
	}
	return a.Top.Link(a.Path, b.Path)
}

// SetTimesAt sets the access and modification time of a name in an open folder, in nanoseconds.
func SetTimesAt(root *os.Root, name string, times [2]int64) error {
	return root.Chtimes(name, time.Unix(0, times[0]), time.Unix(0, times[1]))
}

// SyncFolder does nothing: the system writes folders by itself.
func SyncFolder(*os.File) error { return nil }

// SetAppend returns errors.ErrUnsupported: this system cannot change the mode of an open file.
func SetAppend(*os.File, bool) error { return errors.ErrUnsupported }
