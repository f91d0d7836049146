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
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// fileName is the name of the database file.
const fileName = "state.db"

// busyTime is the time that a writer waits for other processes, which hold the file for milliseconds.
const busyTime = 10 * time.Second

// sqlite is the engine of a file that the processes of one machine share. A transaction locks the file at its start,
// so that scopes need no lock of their own.
type sqlite struct{ path string }

func (e *sqlite) close()            {}
func (e *sqlite) unchanged() string { return "" } // there is one writer
func (e *sqlite) version() string   { return "SELECT value FROM counters WHERE name = 'version'" }
func (e *sqlite) next() string {
	return "UPDATE counters SET value = value + 1 WHERE name = 'version' RETURNING value"
}

func (e *sqlite) empty() bool {
	_, err := os.Stat(e.path)
	return errors.Is(err, fs.ErrNotExist)
}

func (e *sqlite) open(ctx context.Context) (*sql.DB, error) {
	if err := e.makeFile(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", e.source())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConns)
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("state file %s: %w", e.path, err), db.Close())
	}
	return db, nil
}

// makeFile creates the file with an owner-only mode before SQLite opens it. Its companion files inherit the mode.
func (e *sqlite) makeFile() error {
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(e.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// source returns the data source name: transactions lock at their start, and commits are durable.
func (e *sqlite) source() string {
	path := filepath.ToSlash(e.path)
	if filepath.VolumeName(e.path) != "" {
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

func (e *sqlite) read(ctx context.Context, db *sql.DB, do func(context.Context, querier) error) error {
	return do(ctx, db)
}

// settle has nothing to wait for: a transaction ends with its process.
func (e *sqlite) settle(context.Context, *sql.DB, scope) error { return nil }

func (e *sqlite) change(ctx context.Context, db *sql.DB, _ []scope, do func(context.Context, querier) error, commit func() error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(ctx, tx); err != nil {
		return err
	}
	if err := commit(); err != nil {
		return err
	}
	return tx.Commit()
}
