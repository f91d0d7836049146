package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Errors of this package, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already there")
	ErrConflict = errors.New("changed meanwhile")
	ErrFull     = errors.New("no room left")
	ErrClosed   = errors.New("the store is closed")
	// ErrTooLarge is an ErrFull for a record that has no room in an empty store either.
	ErrTooLarge = fmt.Errorf("%w: the record is too large", ErrFull)
)

// Options configure a Store.
type Options struct {
	// Dir is the folder of the file. It is created owner-only on the first write.
	Dir string
	// URL is the address of a PostgreSQL database in place of a file; "" is the file. No error has its password.
	URL string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Reached is called before each query, with read, and at the steps of each change: begin, commit, committed. An error
	// aborts it there; tests use it to end the process. It may be nil.
	Reached func(step string) error
	// Took is called with the time of each operation that has ended: read, with a query, or write, with a transaction and
	// the waits for its turn. err is its error, ErrNotFound too. It may be nil.
	Took func(operation string, d time.Duration, err error)
}

// Store is one state folder, or one database. It is safe for concurrent use, including by several processes.
type Store struct {
	Records
	KeyValues
	Consents
	Presence
	Wakes
	db *database
}

// New returns the store of a folder without opening it.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reached == nil {
		o.Reached = func(string) error { return nil }
	}
	if o.Took == nil {
		o.Took = func(string, time.Duration, error) {}
	}
	d := &database{now: o.Now, reached: o.Reached, took: o.Took}
	s := &Store{db: d}
	s.Records.db, s.KeyValues.db, s.Consents.db = d, d, d
	if o.URL == "" {
		d.engine, s.names = &sqlite{path: filepath.Join(o.Dir, fileName)}, newLockFiles(filepath.Join(o.Dir, presenceFolder))
	} else {
		d.engine, s.names, s.listener = newPostgres(o.URL), newLeases(d), newListener(o.URL)
	}
	return s
}

// Check opens the database of a store, and brings its schema up to date. For a file it does nothing.
func (s *Store) Check(ctx context.Context) error {
	if s.listener == nil {
		return nil
	}
	_, err := s.db.opened(ctx, true)
	return err
}

// Close closes the file if it is open. It is idempotent. The store must not be used afterwards.
func (s *Store) Close() error {
	s.listener.close()
	s.names.release()
	return s.db.close()
}
