//go:build !unix

package main

import "io/fs"

// private reports whether nobody else can write to a folder. Here its access list says so, which a
// user's own folder inherits from the profile.
func private(fs.FileInfo) bool { return true }

// openToOthers reports whether others can read a file. Here its access list says so, not its mode.
func openToOthers(fs.FileMode) bool { return false }
