package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// version is the schema version. A file with a different one is refused.
const version = 4

// tables is the schema. Triggers maintain the totals of each kind and space, so that they need not be counted. A
// record's label is in the column plugin.
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
CREATE TABLE questions (
	id TEXT PRIMARY KEY, plugin TEXT NOT NULL, digest TEXT NOT NULL, principal TEXT NOT NULL,
	line TEXT NOT NULL, want TEXT NOT NULL, effect TEXT NOT NULL, why TEXT NOT NULL, binding TEXT NOT NULL,
	asked INTEGER NOT NULL, expires INTEGER NOT NULL, refused INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE grants (
	id TEXT PRIMARY KEY, plugin TEXT NOT NULL, digest TEXT NOT NULL, principal TEXT NOT NULL,
	line TEXT NOT NULL, binding TEXT NOT NULL, once INTEGER NOT NULL, given INTEGER NOT NULL,
	expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE totals (
	kind TEXT NOT NULL, principal TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
	PRIMARY KEY (kind, principal)) WITHOUT ROWID;
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
CREATE TABLE kv_totals (
	plugin TEXT NOT NULL, principal TEXT NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
	PRIMARY KEY (plugin, principal)) WITHOUT ROWID;
CREATE TRIGGER kv_added AFTER INSERT ON kv BEGIN
	INSERT INTO kv_totals VALUES (new.plugin, new.principal, 1, length(CAST(new.key AS BLOB)) + length(new.value))
		ON CONFLICT (plugin, principal) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER kv_changed AFTER UPDATE OF value ON kv BEGIN
	UPDATE kv_totals SET bytes = bytes + length(new.value) - length(old.value) WHERE plugin = new.plugin AND principal = new.principal;
END;
CREATE TRIGGER kv_gone AFTER DELETE ON kv BEGIN
	UPDATE kv_totals SET count = count - 1, bytes = bytes - length(CAST(old.key AS BLOB)) - length(old.value) WHERE plugin = old.plugin AND principal = old.principal;
	DELETE FROM kv_totals WHERE plugin = old.plugin AND principal = old.principal AND count = 0;
END;
CREATE INDEX records_label ON records (kind, plugin);
PRAGMA user_version = 4;
`

// prepare creates the tables if they do not exist.
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
	switch have {
	case version:
		return nil
	case 0:
	default:
		return fmt.Errorf("it is of version %d, this program knows %d: move it away", have, version)
	}
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	return tx.Commit()
}

// writeAhead enables write-ahead logging, which is persistent in the file. SQLite does not wait for locks here: it
// fails at once while another process does the same.
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

// busy reports whether an error means that another process holds the file.
func busy(err error) bool {
	const sqliteBusy, sqliteLocked, primary = 5, 6, 0xff // SQLite result codes
	var coded interface{ Code() int }
	return errors.As(err, &coded) && (coded.Code()&primary == sqliteBusy || coded.Code()&primary == sqliteLocked)
}
