// Package filelock locks open files between processes. A lock belongs to the open file and is released when it is
// closed or its process ends, so that a free lock means that its holder is gone.
//
//	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
//	free, err := filelock.Try(f)     // free: the lock is held until f is closed
package filelock

import "errors"

// ErrNoLocks means that files in this place cannot be locked. Operations that depend on a lock must not continue.
var ErrNoLocks = errors.New("the file system has no locks between processes, so the state folder cannot be here: name another with --state")
