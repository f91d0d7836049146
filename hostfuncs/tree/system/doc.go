// Package system is what operating systems do each in their own way with a file: moving, linking and dating it by a folder
// that is held open, its numbers, and their errors, in WASI's words.
//
// Nothing here decides anything: whoever calls has looked at the file and may do this with it.
//
// This package is internal to Sallyport and not promised to others.
package system

import "os"

// Name is a name in a folder, in the two ways in which systems take one.
type Name struct {
	Folder *os.Root // that is held open
	Name   string   // in Folder
	Top    *os.Root // a folder above; nil where there is none
	Path   string   // below Top
}
