// Package system provides the file operations that differ between operating systems: moving, linking and setting times
// by an open folder, the fields of a stat, and the translation of errors to WASI.
//
// It makes no access decision: callers have checked the file and its grant.
package system

import "os"

// Name is a name in a folder, in the two forms that systems take.
type Name struct {
	Folder *os.Root // open
	Name   string   // in Folder
	Top    *os.Root // an open folder above; nil if there is none
	Path   string   // below Top
}
