//go:build !unix

package private

import "io/fs"

// ours reports whether nobody else can write to a folder. Here its access list says so, which a
// user's own folder inherits from the profile.
func ours(fs.FileInfo) bool { return true }

// OpenToOthers reports whether others can read a file. Here its access list says so, not its mode.
func OpenToOthers(fs.FileMode) bool { return false }
