package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Space is the key space of one plugin for one principal. Plugin is its name, so that an approved update of the
// plugin keeps the data.
type Space struct{ Plugin, Principal string }

// Item is one key and its value.
type Item struct {
	Key     string
	Value   []byte
	Version int64     // changes with each write, and is never reused
	Expires time.Time // zero is never
}

// KeyValues are the keys and values of plugins.
type KeyValues struct {
	db *database

	mu    sync.Mutex
	ended []string // landings with removable records
}

// Value returns the item of a key. The error is ErrNotFound if there is none.
func (k *KeyValues) Value(ctx context.Context, sp Space, key string) (Item, error) {
	return get(ctx, k.db, scanItem, "SELECT key, value, version, expires FROM kv WHERE plugin = ? AND principal = ? AND key = ? AND expires > ?",
		sp.Plugin, sp.Principal, key, stampOf(k.db.now()))
}

func scanItem(row scanner) (i Item, err error) {
	var expires int64
	err = row.Scan(&i.Key, &i.Value, &i.Version, &expires)
	i.Expires = timeOf(expires)
	return i, err
}

// Keys returns at most n items without their values, sorted by key. Their keys begin with prefix and sort after
// after.
func (k *KeyValues) Keys(ctx context.Context, sp Space, prefix, after string, n int) ([]Item, error) {
	end := behind(prefix)
	return list(ctx, k.db, scanItem, `SELECT key, '', version, expires FROM kv
		WHERE plugin = ? AND principal = ? AND key > ? AND key >= ? AND (key < ? OR ?) AND expires > ? ORDER BY key LIMIT ?`,
		sp.Plugin, sp.Principal, after, prefix, end, end == "", stampOf(k.db.now()), min(n, maxListed))
}

// behind returns the first string, in the order of bytes, after all with a prefix; "" if there is none.
func behind(prefix string) string {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff { // no rune, so that strings.TrimRight would cut others too
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return string(end)
}

// Write is one change of a key.
type Write struct {
	Key     string
	Value   []byte
	Delete  bool      // remove the key; Value and Expires are ignored
	Expires time.Time // zero is never
	// If is the version that the key must have, or 0 if it must not exist. Nil is unconditional.
	If *int64
}

// ConflictError names the key with a version other than Write.If. It wraps ErrConflict.
type ConflictError struct{ Key string }

// Error names the key.
func (e *ConflictError) Error() string { return fmt.Sprintf("key %q has changed", e.Key) }

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// Batch is the set of changes in one space.
type Batch struct {
	Space
	Quota  int64 // limit on the bytes of keys and values in the space after the changes
	Writes []Write
}

// Commit applies all changes in one space atomically: see CommitAll.
func (k *KeyValues) Commit(ctx context.Context, sp Space, quota int64, writes []Write, then func() error) error {
	return k.CommitAll(ctx, []Batch{{sp, quota, writes}}, "", then)
}

// CommitAll applies all changes atomically. The error is a *ConflictError if an If did not match, or ErrFull if a
// space would exceed its quota. Before the commit, then is called if it is not nil. Its error rolls everything back.
// Other writers are blocked meanwhile. A nonempty landing, which identifies a commit of files, is reported by Landed
// from the commit until EndLanding.
func (k *KeyValues) CommitAll(ctx context.Context, batches []Batch, landing string, then func() error) error {
	done := k.endedLandings()
	err := k.db.write(ctx, spacesOf(batches, landing), func(ctx context.Context, tx querier) error {
		for _, b := range batches {
			if err := k.applyAll(ctx, tx, b); err != nil {
				return err
			}
		}
		if err := k.noteLanding(ctx, tx, landing, done); err != nil || then == nil {
			return err
		}
		return then()
	})
	if err != nil {
		k.EndLanding(done...)
	}
	return err
}

// spacesOf returns the scopes of a commit: its spaces, and its landing.
func spacesOf(batches []Batch, landing string) (all []scope) {
	for _, b := range batches {
		all = append(all, pluginScope(b.Plugin, true), scope{name: "kv\x00" + b.Plugin + "\x00" + b.Principal})
	}
	if landing != "" {
		all = append(all, landingScope(landing))
	}
	return all
}

// pluginScope is that of all keys of a plugin.
func pluginScope(plugin string, shared bool) scope {
	return scope{name: "kv\x00" + plugin, shared: shared}
}

func (k *KeyValues) applyAll(ctx context.Context, tx querier, b Batch) error {
	for _, w := range b.Writes {
		if err := k.apply(ctx, tx, b.Space, w); err != nil {
			return err
		}
	}
	size, err := held(ctx, tx, b.Space)
	if err != nil || size <= b.Quota {
		return err
	}
	if err := removeExpiredKeys(ctx, tx, b.Space, k.db.now()); err != nil {
		return err
	}
	if size, err = held(ctx, tx, b.Space); err == nil && size > b.Quota {
		return ErrFull
	}
	return err
}

// Purge removes every key of a plugin, of all principals.
func (k *KeyValues) Purge(ctx context.Context, plugin string) error {
	return k.db.write(ctx, []scope{pluginScope(plugin, false)}, func(ctx context.Context, tx querier) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM kv WHERE plugin = ?", plugin)
		return err
	})
}

// held returns the bytes that a space holds, including expired keys that are not removed yet.
func held(ctx context.Context, tx querier, sp Space) (size int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT bytes FROM kv_totals WHERE plugin = ? AND principal = ?", sp.Plugin, sp.Principal).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return size, err
}

func removeExpiredKeys(ctx context.Context, tx querier, sp Space, now time.Time) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM kv WHERE plugin = ? AND principal = ? AND expires <= ?", sp.Plugin, sp.Principal, stampOf(now))
	return err
}

func (k *KeyValues) apply(ctx context.Context, tx querier, sp Space, w Write) error {
	if w.If != nil {
		var have int64
		err := tx.QueryRowContext(ctx, "SELECT version FROM kv WHERE plugin = ? AND principal = ? AND key = ? AND expires > ?",
			sp.Plugin, sp.Principal, w.Key, stampOf(k.db.now())).Scan(&have)
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
	version, err := k.db.next(ctx, tx)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO kv VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (plugin, principal, key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`,
		sp.Plugin, sp.Principal, w.Key, notNil(w.Value), version, stampOf(w.Expires))
	return err
}
