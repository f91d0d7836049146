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
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// fileName is the name of the database file.
const fileName = "state.db"

// busyTime is the time that a writer waits for other processes, which hold the file for milliseconds.
const busyTime = 10 * time.Second

// maxConns bounds the connections of one process. SQLite allows only one writer at a time.
const maxConns = 4

// sweepEvery is the interval at which writers remove expired data.
const sweepEvery = time.Minute

// database is the file of a store.
type database struct {
	path    string
	now     func() time.Time
	reached func(step string) error

	mu     sync.Mutex
	sql    *sql.DB // nil before the first use
	closed bool
	swept  time.Time
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.sql == nil {
		return nil
	}
	db := d.sql
	d.sql = nil
	return db.Close()
}

// reader returns the database for reading, or nil if nothing was ever written.
func (d *database) reader(ctx context.Context) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sql == nil && !d.closed {
		if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return d.open(ctx)
}

// open opens the file, and creates it if necessary. d.mu is held.
func (d *database) open(ctx context.Context) (*sql.DB, error) {
	if d.closed {
		return nil, ErrClosed
	}
	if d.sql != nil {
		return d.sql, nil
	}
	if err := d.makeFile(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", d.source())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConns)
	if err := prepare(context.WithoutCancel(ctx), db); err != nil {
		return nil, errors.Join(fmt.Errorf("state file %s: %w", d.path, err), db.Close())
	}
	d.sql = db
	return db, nil
}

// makeFile creates the file with an owner-only mode before SQLite opens it. Its companion files inherit the mode.
func (d *database) makeFile() error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// source returns the data source name: transactions lock at their start, and commits are durable.
func (d *database) source() string {
	path := filepath.ToSlash(d.path)
	if filepath.VolumeName(d.path) != "" {
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
func (d *database) write(ctx context.Context, do func(tx *sql.Tx) error) error {
	if err := d.reached("begin"); err != nil {
		return err
	}
	d.mu.Lock()
	db, err := d.open(ctx)
	now := d.now()
	sweep := err == nil && now.Sub(d.swept) >= sweepEvery
	if sweep {
		d.swept = now
	}
	d.mu.Unlock()
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
	if err := d.reached("commit"); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return d.reached("committed")
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
