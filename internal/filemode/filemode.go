// Package filemode decides whether a file with secrets is private to a process.
package filemode

import "io/fs"

// owner is the owner of a file or a process.
type owner struct{ user, group int }

// private reports whether a file of this mode is for the process alone: it belongs to one user, or it is root's and the
// process's group may read it. Supervisors provide secrets in the second form to processes that are not root.
func private(mode fs.FileMode, file, process owner) bool {
	switch perm := mode.Perm(); {
	case perm&0o077 == 0:
		return true
	case perm&0o037 != 0:
		return false
	}
	return file.user == 0 && process.user != 0 && file.group == process.group
}
