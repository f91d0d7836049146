package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Errors of this package, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already there")
	ErrConflict = errors.New("changed meanwhile")
	ErrFull     = errors.New("no room left")
	ErrClosed   = errors.New("the store is closed")
)

// fileName is the name of the database file.
const fileName = "state.db"

// busyTime is the time that a writer waits for other processes, which hold the file for milliseconds.
const busyTime = 10 * time.Second

// maxConns bounds the connections of one process. SQLite allows only one writer at a time.
const maxConns = 4

// sweepEvery is the interval at which writers remove expired data.
const sweepEvery = time.Minute

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
	path string
	now  func() time.Time

	mu     sync.Mutex
	db     *sql.DB // nil before the first use
	closed bool
	swept  time.Time
	held   map[string]*os.File // lock files of the names held by this process
	ended  []string            // landings with removable records

	answers atomic.Uint64 // number of answer changes by this Store

	reached func(step string) error

	locking func() bool // whether file locks exclude anyone
}

// New returns the store of a folder without opening it.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reached == nil {
		o.Reached = func(string) error { return nil }
	}
	s := &Store{path: filepath.Join(o.Dir, fileName), now: o.Now, reached: o.Reached}
	s.locking = sync.OnceValue(s.locks)
	return s
}

// Close closes the file if it is open. It is idempotent. The store must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.release()
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return db.Close()
}

// reader returns the database for reading, or nil if nothing was ever written.
func (s *Store) reader(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil && !s.closed {
		if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return s.open(ctx)
}

// open opens the file, and creates it if necessary. s.mu is held.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	if s.closed {
		return nil, ErrClosed
	}
	if s.db != nil {
		return s.db, nil
	}
	if err := s.makeFile(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", s.source())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConns)
	if err := prepare(context.WithoutCancel(ctx), db); err != nil {
		return nil, errors.Join(fmt.Errorf("state file %s: %w", s.path, err), db.Close())
	}
	s.db = db
	return db, nil
}

// makeFile creates the file with an owner-only mode before SQLite opens it. Its companion files inherit the mode.
func (s *Store) makeFile() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// source returns the data source name: transactions lock at their start, and commits are durable.
func (s *Store) source() string {
	path := filepath.ToSlash(s.path)
	if filepath.VolumeName(s.path) != "" {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTime.Milliseconds()),
			"synchronous(FULL)", "foreign_keys(ON)", "trusted_schema(OFF)",
		},
	}.Encode()}).String()
}

// write runs one transaction, and occasionally removes expired data.
func (s *Store) write(ctx context.Context, do func(tx *sql.Tx) error) error {
	if err := s.reached("begin"); err != nil {
		return err
	}
	s.mu.Lock()
	db, err := s.open(ctx)
	now := s.now()
	sweep := err == nil && now.Sub(s.swept) >= sweepEvery
	if sweep {
		s.swept = now
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if sweep {
		if err := removeExpired(ctx, tx, now); err != nil {
			return err
		}
	}
	if err := do(tx); err != nil {
		return err
	}
	if err := s.reached("commit"); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return s.reached("committed")
}

func removeExpired(ctx context.Context, tx *sql.Tx, now time.Time) error {
	for _, table := range []string{"records", "kv", "questions", "grants"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE expires <= ?", stampOf(now)); err != nil {
			return err
		}
	}
	return nil
}

// never is the stamp of data without expiry.
const never = 1<<63 - 1

// stampOf converts a time to milliseconds since 1970. The zero time is never.
func stampOf(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixMilli()
}

func timeOf(stamp int64) time.Time {
	if stamp == never {
		return time.Time{}
	}
	return time.UnixMilli(stamp)
}

// next increments the version counter: no two writes of this file have the same version.
func next(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "UPDATE counters SET value = value + 1 WHERE name = 'version' RETURNING value").Scan(&n)
	return n, err
}

// one converts sql.ErrNoRows to ErrNotFound.
func one(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
