//go:build !unix

package tree

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// noBlock is for fifos, which this system does not have in folders.
const noBlock = 0

// renameAt moves within one mount, whose os.Root keeps the move inside.
func renameAt(a, b *place) error {
	root, from, to, err := inMount(a, b)
	if err != nil {
		return err
	}
	return root.Rename(from, to)
}

func linkAt(a, b *place) error {
	root, from, to, err := inMount(a, b)
	if err != nil {
		return err
	}
	return root.Link(from, to)
}

// inMount returns two places as paths in the mount that holds both.
func inMount(a, b *place) (root *os.Root, from, to string, err error) {
	m := a.parent().mount
	if m == nil || m.root == nil || m != b.parent().mount {
		return nil, "", "", wasi.EXDEV
	}
	from, _ = cutPrefix(a.host, m.host)
	to, _ = cutPrefix(b.host, m.host)
	return m.root, filepath.Clean(from), filepath.Clean(to), nil
}

func setTimesAt(root *os.Root, name string, times [2]int64) error {
	return root.Chtimes(name, time.Unix(0, times[0]), time.Unix(0, times[1]))
}

// syncFolder does nothing: the system writes folders by itself.
func syncFolder(*os.File) error { return nil }

// setAppend is what this system cannot do with an open file.
func setAppend(*os.File, bool) error { return errors.ErrUnsupported }
