// Package filelock locks open files between processes. A lock belongs to the open file: it is given back
// with it, also when its process is killed, so a lock that is free says that whoever had it has gone.
//
//	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
//	free, err := filelock.Try(f)     // free: it is ours until f is closed
//
// This package is internal to Sallyport: it is not promised to others.
package filelock

import "errors"

// ErrNoLocks says that files of this place cannot be locked. Nothing that a lock guards may go on then.
var ErrNoLocks = errors.New("the file system has no locks between processes, so the state folder cannot be here: name another with --state")
