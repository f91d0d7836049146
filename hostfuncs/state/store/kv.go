package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Space is the keys of one plugin for one principal. Plugin is its name: an update of a plugin that the
// operator approved finds what the one before kept.
type Space struct{ Plugin, Principal string }

// Item is one key and its value.
type Item struct {
	Key     string
	Value   []byte
	Version int64     // another one after each change, never the same again
	Expires time.Time // zero is never
}

// Value returns what a key holds; ErrNotFound if it holds nothing.
func (s *Store) Value(ctx context.Context, sp Space, key string) (Item, error) {
	db, err := s.reader(ctx)
	if err != nil {
		return Item{}, err
	}
	if db == nil {
		return Item{}, ErrNotFound
	}
	item, err := scanItem(db.QueryRowContext(ctx,
		"SELECT key, value, version, expires FROM kv WHERE plugin = ? AND principal = ? AND key = ? AND expires > ?",
		sp.Plugin, sp.Principal, key, stampOf(s.now())))
	return item, one(err)
}

func scanItem(row scanner) (i Item, err error) {
	var expires int64
	err = row.Scan(&i.Key, &i.Value, &i.Version, &expires)
	i.Expires = timeOf(expires)
	return i, err
}

// Keys returns at most n items, sorted by key and without their values, whose keys begin with prefix and
// come behind after.
func (s *Store) Keys(ctx context.Context, sp Space, prefix, after string, n int) ([]Item, error) {
	db, err := s.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT key, x'', version, expires FROM kv
		WHERE plugin = ? AND principal = ? AND key > ? AND substr(key, 1, length(?)) = ? AND expires > ? ORDER BY key LIMIT ?`,
		sp.Plugin, sp.Principal, after, prefix, prefix, stampOf(s.now()), min(n, maxListed))
	return collect(rows, err, scanItem)
}

// Write is one change of a key.
type Write struct {
	Key     string
	Value   []byte
	Delete  bool      // take the key out; Value and Expires say nothing
	Expires time.Time // zero is never
	// If is the version that the key must have for this; 0 is a key that holds nothing. Nil asks nothing.
	If *int64
}

// A ConflictError says which key had another version than a Write asks for. It is ErrConflict.
type ConflictError struct{ Key string }

// Error names the key.
func (e *ConflictError) Error() string { return fmt.Sprintf("key %q has changed", e.Key) }

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// Batch is what is to change in one space.
type Batch struct {
	Space
	Quota  int64 // bytes of keys and values that the space may hold then
	Writes []Write
}

// Commit makes all the changes of one space or none: see CommitAll.
func (s *Store) Commit(ctx context.Context, sp Space, quota int64, writes []Write, then func() error) error {
	return s.CommitAll(ctx, []Batch{{sp, quota, writes}}, "", then)
}

// CommitAll makes all the changes or none. A *ConflictError names the key whose If did not hold; ErrFull: a
// space would hold more than its quota. When all holds then is called, and an error of it undoes everything;
// nil is nothing to do. Nobody else can write meanwhile. A landing that is named is known to Landed from the moment at
// which the changes hold, until EndLanding.
func (s *Store) CommitAll(ctx context.Context, batches []Batch, landing string, then func() error) error {
	done := s.endedLandings()
	err := s.write(ctx, func(tx *sql.Tx) error {
		for _, b := range batches {
			if err := s.applyAll(ctx, tx, b); err != nil {
				return err
			}
		}
		if err := s.noteLanding(ctx, tx, landing, done); err != nil || then == nil {
			return err
		}
		return then()
	})
	if err != nil {
		s.EndLanding(done...)
	}
	return err
}

func (s *Store) applyAll(ctx context.Context, tx *sql.Tx, b Batch) error {
	for _, w := range b.Writes {
		if err := s.apply(ctx, tx, b.Space, w); err != nil {
			return err
		}
	}
	size, err := held(ctx, tx, b.Space)
	if err != nil || size <= b.Quota {
		return err
	}
	if err := removeExpiredKeys(ctx, tx, b.Space, s.now()); err != nil {
		return err
	}
	if size, err = held(ctx, tx, b.Space); err == nil && size > b.Quota {
		return ErrFull
	}
	return err
}

// held is how many bytes a space holds, keys that have expired and are not removed yet among them.
func held(ctx context.Context, tx *sql.Tx, sp Space) (size int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT bytes FROM kv_totals WHERE plugin = ? AND principal = ?", sp.Plugin, sp.Principal).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return size, err
}

func removeExpiredKeys(ctx context.Context, tx *sql.Tx, sp Space, now time.Time) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM kv WHERE plugin = ? AND principal = ? AND expires <= ?", sp.Plugin, sp.Principal, stampOf(now))
	return err
}

func (s *Store) apply(ctx context.Context, tx *sql.Tx, sp Space, w Write) error {
	if w.If != nil {
		var have int64
		err := tx.QueryRowContext(ctx, "SELECT version FROM kv WHERE plugin = ? AND principal = ? AND key = ? AND expires > ?",
			sp.Plugin, sp.Principal, w.Key, stampOf(s.now())).Scan(&have)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if have != *w.If {
			return &ConflictError{Key: w.Key}
		}
	}
	if w.Delete {
		_, err := tx.ExecContext(ctx, "DELETE FROM kv WHERE plugin = ? AND principal = ? AND key = ?", sp.Plugin, sp.Principal, w.Key)
		return err
	}
	version, err := next(ctx, tx)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO kv VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (plugin, principal, key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`,
		sp.Plugin, sp.Principal, w.Key, notNil(w.Value), version, stampOf(w.Expires))
	return err
}
