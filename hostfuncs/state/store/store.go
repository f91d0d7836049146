package store

import (
	"errors"
	"path/filepath"
	"sync"
	"time"
)

// Errors of this package, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already there")
	ErrConflict = errors.New("changed meanwhile")
	ErrFull     = errors.New("no room left")
	ErrClosed   = errors.New("the store is closed")
)

// Options configure a Store.
type Options struct {
	// Dir is the folder of the file. It is created owner-only on the first write.
	Dir string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Reached is called at the steps of each change: begin, commit, committed. An error aborts the change there;
	// tests use it to end the process. It may be nil.
	Reached func(step string) error
}

// Store is one state folder. It is safe for concurrent use, including by several processes.
type Store struct {
	Records
	KeyValues
	Consents
	Presence
	file *database
}

// New returns the store of a folder without opening it.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reached == nil {
		o.Reached = func(string) error { return nil }
	}
	d := &database{path: filepath.Join(o.Dir, fileName), now: o.Now, reached: o.Reached}
	s := &Store{file: d}
	s.Records.db, s.KeyValues.db, s.Consents.db = d, d, d
	s.Presence.dir = filepath.Join(o.Dir, presenceFolder)
	s.locking = sync.OnceValue(s.locks)
	return s
}

// Close closes the file if it is open. It is idempotent. The store must not be used afterwards.
func (s *Store) Close() error {
	s.release()
	return s.file.close()
}
