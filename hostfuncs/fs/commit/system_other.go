//go:build !unix && !windows

package commit

import (
	"errors"
	"io/fs"
	"os"
)

// removesOpen reports whether an open file can be removed.
const removesOpen = true

func link(from *os.Root, name string, to *os.Root, second string) error {
	if from == to {
		return from.Link(name, second)
	}
	return errors.ErrUnsupported
}

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func syncFolder(*os.Root, string) error { return nil }

func syncDir(string) error { return nil }
