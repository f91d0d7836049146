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

// The errors of this package, found by errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already there")
	ErrConflict = errors.New("changed meanwhile")
	ErrFull     = errors.New("no room left")
	ErrClosed   = errors.New("the store is closed")
)

// fileName is the store's file in its folder.
const fileName = "state.db"

// busyTime is how long a writer waits for another process's, which hold the file for milliseconds.
const busyTime = 10 * time.Second

// maxConns bounds the connections of one process: SQLite has one writer at a time in any case.
const maxConns = 4

// sweepEvery is how often expired things are removed, by whoever writes.
const sweepEvery = time.Minute

// Options configure a Store.
type Options struct {
	// Dir is the folder that holds the file; it is made, for its owner only, when something is written.
	Dir string
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Store is one state folder. It is safe for concurrent use, by processes too.
type Store struct {
	path string
	now  func() time.Time

	mu     sync.Mutex
	db     *sql.DB // nil until the first use
	closed bool
	swept  time.Time
	held   map[string]*os.File // names that this process holds

	locking func() bool // whether a lock keeps anybody out
}

// New returns the store of a folder and touches nothing yet.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{path: filepath.Join(o.Dir, fileName), now: o.Now}
	s.locking = sync.OnceValue(s.locks)
	return s
}

// Close closes the file, if it is open. The store is not used after it; it may be called again.
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

// reader returns the database for a question; nil if nothing was ever written.
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

// open opens the file, and makes it if it is not there. s.mu is held.
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

// makeFile makes the file before SQLite does, so that nobody else can read it; its companions get the
// same mode.
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

// source is the file as the driver wants it: writers take their turn when they begin, and what is
// committed is on the disk.
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

// version is the form of the tables. A file of a later one is refused, never guessed at.
const version = 3

// tables is the form.
const tables = `
CREATE TABLE records (
	kind TEXT NOT NULL, id TEXT NOT NULL, principal TEXT NOT NULL, plugin TEXT NOT NULL,
	data BLOB NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL, version INTEGER NOT NULL,
	PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE INDEX records_owner ON records (kind, principal, created);
CREATE INDEX records_expiry ON records (expires);
CREATE TABLE kv (
	plugin TEXT NOT NULL, principal TEXT NOT NULL, key TEXT NOT NULL,
	value BLOB NOT NULL, version INTEGER NOT NULL, expires INTEGER NOT NULL,
	PRIMARY KEY (plugin, principal, key)) WITHOUT ROWID;
CREATE INDEX kv_expiry ON kv (expires);
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters VALUES ('version', 0);
`

// answerTables are what an operator is asked and answered. Version 1 had others, which nothing wrote to.
const answerTables = `
DROP TABLE IF EXISTS questions;
DROP TABLE IF EXISTS grants;
CREATE TABLE questions (
	id TEXT PRIMARY KEY, plugin TEXT NOT NULL, digest TEXT NOT NULL, principal TEXT NOT NULL,
	line TEXT NOT NULL, want TEXT NOT NULL, effect TEXT NOT NULL, why TEXT NOT NULL, binding TEXT NOT NULL,
	asked INTEGER NOT NULL, expires INTEGER NOT NULL, refused INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE grants (
	id TEXT PRIMARY KEY, plugin TEXT NOT NULL, digest TEXT NOT NULL, principal TEXT NOT NULL,
	line TEXT NOT NULL, binding TEXT NOT NULL, once INTEGER NOT NULL, given INTEGER NOT NULL,
	expires INTEGER NOT NULL) WITHOUT ROWID;
`

// totalTables keep how much there is of each kind, so that nobody has to count it.
const totalTables = `
CREATE TABLE totals (
	kind TEXT NOT NULL, principal TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
	PRIMARY KEY (kind, principal)) WITHOUT ROWID;
INSERT INTO totals SELECT kind, principal, count(*), sum(length(data)) FROM records GROUP BY kind, principal;
CREATE TRIGGER records_added AFTER INSERT ON records BEGIN
	INSERT INTO totals VALUES (new.kind, new.principal, 1, length(new.data))
		ON CONFLICT (kind, principal) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER records_changed AFTER UPDATE OF data ON records BEGIN
	UPDATE totals SET bytes = bytes + length(new.data) - length(old.data) WHERE kind = new.kind AND principal = new.principal;
END;
CREATE TRIGGER records_gone AFTER DELETE ON records BEGIN
	UPDATE totals SET count = count - 1, bytes = bytes - length(old.data) WHERE kind = old.kind AND principal = old.principal;
	DELETE FROM totals WHERE kind = old.kind AND principal = old.principal AND count = 0;
END;
PRAGMA user_version = 3;
`

// labels lets records be found by their label, which stands in the column plugin. Files that were made
// before it get it too.
const labels = "CREATE INDEX IF NOT EXISTS records_label ON records (kind, plugin)"

// prepare makes the tables, unless another process has.
func prepare(ctx context.Context, db *sql.DB) error {
	if err := writeAhead(ctx, db); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var have int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	form := labels
	switch have {
	case version:
	case 0:
		form = tables + answerTables + totalTables + labels
	case 1:
		form = answerTables + totalTables + labels
	case 2:
		form = totalTables + labels
	default:
		return fmt.Errorf("it is of version %d, this program knows %d: move it away", have, version)
	}
	if _, err := tx.ExecContext(ctx, form); err != nil {
		return err
	}
	return tx.Commit()
}

// writeAhead turns the write-ahead mode on, which stays with the file. SQLite does not wait for others here:
// it fails at once while another process does the same.
func writeAhead(ctx context.Context, db *sql.DB) error {
	const pause = 10 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		var mode string
		err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			err = fmt.Errorf("the file system cannot share it (mode %s): put the state folder on a local disk", mode)
		}
		if err == nil || !busy(err) || waited >= busyTime {
			return err
		}
		time.Sleep(pause)
	}
}

// busy reports whether an error only says that another process has the file now.
func busy(err error) bool {
	const sqliteBusy, sqliteLocked, primary = 5, 6, 0xff // of SQLite's result codes
	var coded interface{ Code() int }
	return errors.As(err, &coded) && (coded.Code()&primary == sqliteBusy || coded.Code()&primary == sqliteLocked)
}

// write runs one transaction, and removes what has expired now and then.
func (s *Store) write(ctx context.Context, do func(tx *sql.Tx) error) error {
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
	return tx.Commit()
}

func removeExpired(ctx context.Context, tx *sql.Tx, now time.Time) error {
	for _, table := range []string{"records", "kv", "questions", "grants"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE expires <= ?", stampOf(now)); err != nil {
			return err
		}
	}
	return nil
}

// never is the stamp of what does not expire.
const never = 1<<63 - 1

// stampOf is a time as the file holds it: milliseconds since 1970; the zero time is never.
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

// next counts versions: no two writes of this file have the same one.
func next(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "UPDATE counters SET value = value + 1 WHERE name = 'version' RETURNING value").Scan(&n)
	return n, err
}

// one turns the driver's word for "no row" into ours.
func one(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
