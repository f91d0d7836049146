//go:build !linux

package system

import "os"

// Settled returns ErrMoved unless the open folder is at an absolute path without links.
func Settled(root *os.Root, path string) error { return settled(root, path) }
