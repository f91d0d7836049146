//go:build !linux

package system

import "os"

// Settled returns ErrMoved unless the folder that is held open is at an absolute path that leads through no link.
func Settled(root *os.Root, path string) error { return settled(root, path) }
