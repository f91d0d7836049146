package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Kind is what a record is about.
type Kind string

// The kinds of records.
const (
	Task    Kind = "task"    // a call that goes on after its answer
	Result  Kind = "result"  // what was too large for an answer, to be read in pages
	Reply   Kind = "reply"   // the answer to a call with an idempotency key
	Spent   Kind = "spent"   // the id of something that may be used once
	Journal Kind = "journal" // what a call that waits for an answer did so far
	Memory  Kind = "memory"  // the answer of a deterministic tool
	Form    Kind = "form"    // what a plugin asks a person, and the answer until the plugin has it
	Part    Kind = "part"    // a part of what a task that runs did so far

	landingKind Kind = "landing" // that files have landed with keys
)

// Done is the label of a record that is over: it makes room for new ones.
const Done = "-"

// bound is how much of a kind one principal may have. What is derived makes room by itself, and so does what is Done,
// the oldest first; what somebody counts on is refused when there is none.
type bound struct {
	count int
	bytes int64
	evict bool
}

// bounds keep one principal from filling the disk.
func bounds(k Kind) bound {
	switch k {
	case Result:
		return bound{count: 256, bytes: 64 << 20, evict: true}
	case Memory:
		return bound{count: 1024, bytes: 16 << 20, evict: true}
	case Reply:
		return bound{count: 10_000, bytes: 64 << 20}
	case Spent:
		return bound{count: 1_000_000, bytes: 1 << 30}
	case Part:
		return bound{count: 100_000, bytes: 1 << 30}
	}
	return bound{count: 10_000, bytes: 256 << 20}
}

// Record is one thing that is kept. Who may see it is the caller's to check: Principal.
type Record struct {
	ID        string
	Principal string    // whose it is
	Label     string    // what it is found by beside its ID, see Labelled; may be empty
	Data      []byte    // the kind's own
	Created   time.Time // set by Add
	Expires   time.Time // not there any more from then on; zero is never
	Version   int64     // another one after each change; set by Add and Replace
}

// Add keeps a new record and returns it with its version. ErrExists: there is one of this kind and ID, also
// another principal's. ErrFull, with the bound: its principal has too many.
func (s *Store) Add(ctx context.Context, k Kind, r Record) (Record, error) {
	now := s.now()
	r.Created = timeOf(stampOf(now))
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ? AND expires <= ?", k, r.ID, stampOf(now)); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE kind = ? AND id = ?", k, r.ID).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return ErrExists
		}
		if err := makeRoom(ctx, tx, k, r); err != nil {
			return err
		}
		if r.Version, err = next(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			k, r.ID, r.Principal, r.Label, notNil(r.Data), stampOf(r.Created), stampOf(r.Expires), r.Version)
		return err
	})
	return r, err
}

// makeRoom holds the bound of a kind.
func makeRoom(ctx context.Context, tx *sql.Tx, k Kind, r Record) error {
	b := bounds(k)
	full := fmt.Errorf("%w: one caller has %d at most, of %d MiB in all", ErrFull, b.count, b.bytes>>20)
	if int64(len(r.Data)) > b.bytes {
		return full
	}
	for {
		var count int
		var bytes int64
		err := tx.QueryRowContext(ctx, "SELECT count, bytes FROM totals WHERE kind = ? AND principal = ?",
			k, r.Principal).Scan(&count, &bytes)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if count < b.count && bytes+int64(len(r.Data)) <= b.bytes {
			return nil
		}
		gone, err := tx.ExecContext(ctx, `DELETE FROM records WHERE kind = ? AND id IN (
			SELECT id FROM records WHERE kind = ? AND principal = ? AND (? OR plugin = ?) ORDER BY created, version LIMIT ?)`,
			k, k, r.Principal, b.evict, Done, max(1, count/8))
		if err != nil {
			return err
		}
		if n, err := gone.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return full
		}
	}
}

const recordColumns = "id, principal, plugin, data, created, expires, version"

// Get returns a record; ErrNotFound if there is none or it has expired.
func (s *Store) Get(ctx context.Context, k Kind, id string) (Record, error) {
	db, err := s.reader(ctx)
	if err != nil {
		return Record{}, err
	}
	if db == nil {
		return Record{}, ErrNotFound
	}
	r, err := scanRecord(db.QueryRowContext(ctx, "SELECT "+recordColumns+" FROM records WHERE kind = ? AND id = ? AND expires > ?",
		k, id, stampOf(s.now())))
	return r, one(err)
}

type scanner interface{ Scan(...any) error }

func scanRecord(row scanner) (r Record, err error) {
	var created, expires int64
	err = row.Scan(&r.ID, &r.Principal, &r.Label, &r.Data, &created, &expires, &r.Version)
	r.Created, r.Expires = timeOf(created), timeOf(expires)
	return r, err
}

// Replace changes the data, label and expiry of the record that has this ID and Version, and returns it with its
// new version. ErrConflict: somebody else changed it, or it is not there any more.
func (s *Store) Replace(ctx context.Context, k Kind, r Record) (Record, error) {
	err := s.write(ctx, func(tx *sql.Tx) error {
		version, err := next(ctx, tx)
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, "UPDATE records SET data = ?, plugin = ?, expires = ?, version = ? WHERE kind = ? AND id = ? AND version = ? AND expires > ?",
			notNil(r.Data), r.Label, stampOf(r.Expires), version, k, r.ID, r.Version, stampOf(s.now()))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return orConflict(err)
		}
		r.Version = version
		return nil
	})
	return r, err
}

func orConflict(err error) error {
	if err == nil {
		return ErrConflict
	}
	return err
}

// Remove takes a record out; it need not be there.
func (s *Store) Remove(ctx context.Context, k Kind, id string) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", k, id)
		return err
	})
}

// Version is another one after each Add, Replace and Commit of any process; 0 where nothing was ever written.
func (s *Store) Version(ctx context.Context) (n int64, err error) {
	db, err := s.reader(ctx)
	if db == nil || err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT value FROM counters WHERE name = 'version'").Scan(&n)
	return n, err
}

// maxListed bounds one List, so that its answer fits in memory.
const maxListed = 1000

// List returns at most n records of a kind, 1000 if n is 0 or more than that, sorted by ID, whose ID comes
// behind after. An empty principal means everybody's.
func (s *Store) List(ctx context.Context, k Kind, principal, after string, n int) ([]Record, error) {
	db, err := s.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	if n <= 0 || n > maxListed {
		n = maxListed
	}
	rows, err := db.QueryContext(ctx, "SELECT "+recordColumns+` FROM records
		WHERE kind = ? AND id > ? AND (principal = ? OR ? = '') AND expires > ? ORDER BY id LIMIT ?`,
		k, after, principal, principal, stampOf(s.now()), n)
	return collect(rows, err, scanRecord)
}

// collect reads all rows.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		x, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, rows.Err()
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
