package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

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
