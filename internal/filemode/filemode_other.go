//go:build !unix

package filemode

import "io/fs"

// Private returns true: access is decided by the access list here, and not by the mode.
func Private(fs.FileInfo) bool { return true }
