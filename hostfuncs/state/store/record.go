package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// Kind is the kind of a record.
type Kind string

// The kinds of records.
const (
	Task    Kind = "task"    // a call that continues after its response
	Result  Kind = "result"  // a result too large for a response, read in pages
	Reply   Kind = "reply"   // the response to a call with an idempotency key
	Spent   Kind = "spent"   // an ID that may be used once
	Journal Kind = "journal" // the journal of a call that waits for an answer
	Memory  Kind = "memory"  // the cached result of a deterministic tool
	Form    Kind = "form"    // a plugin's elicitation, and its answer until the plugin has taken it
	Part    Kind = "part"    // a part of the journal of a running task
	Usage   Kind = "usage"   // the use of a principal in a window of time
	Session Kind = "session" // a session of an older protocol version
	Event   Kind = "event"   // a message of a session to its client, or the head of a stream of them, below the session
	Mail    Kind = "mail"    // a message of a session for the host that awaits it, below the session
	Claim   Kind = "claim"   // the name of the process that asks the questions of a task
	Lock    Kind = "lock"    // the approved bytes of each plugin
	Code    Kind = "code"    // a copy of the approved bytes of a plugin, and its description; their digest is the principal
	Head    Kind = "head"    // the last line of a chain of the audit log, as number/MAC, of a host as its principal; it is neither removed nor set back before it expires

	landingKind Kind = "landing" // a commit of files together with keys
)

// Done is the label of finished records, which are removed for new ones when room is needed.
const Done = "-"

// bound limits the records of a kind per principal. At the limit, derived and Done records are removed, oldest first; of
// those with unused, the one that expires first. Records of other kinds are refused.
type bound struct {
	count  int
	bytes  int64
	evict  bool
	unused bool
	below  *bound // of the records below one session, of which the oldest are removed; nil for no such limit
}

// bounds returns the limits that keep one principal from filling the disk.
func bounds(k Kind) bound {
	switch k {
	case Result:
		return bound{count: 256, bytes: 64 << 20, evict: true}
	case Memory:
		return bound{count: 1024, bytes: 16 << 20, evict: true}
	case Reply:
		return bound{count: 100_000, bytes: 256 << 20} // each for a day: a service has one caller
	case Spent:
		return bound{count: 1_000_000, bytes: 1 << 30}
	case Session:
		return bound{count: 1024, bytes: 64 << 20, evict: true, unused: true}
	case Event:
		return bound{count: 65_536, bytes: 64 << 20, evict: true}
	case Mail:
		// A caller's letters are refused and not removed for others of its: they may be those of another session. Callers
		// without a name are several, see removeFromLargest.
		return bound{count: 4096, bytes: 128 << 20, below: &bound{count: 256, bytes: 32 << 20}}
	case Part:
		return bound{count: 100_000, bytes: 1 << 30}
	case Head:
		return bound{count: 100_000, bytes: 64 << 20}
	}
	return bound{count: 10_000, bytes: 256 << 20}
}

// Records are the stored records of all kinds.
type Records struct{ db *database }

// Record is one stored value. The caller must check access by Principal.
type Record struct {
	ID        string
	Principal string    // its owner
	Label     string    // secondary key, see Labelled; may be empty
	Data      []byte    // format depends on the kind
	Created   time.Time // set by Add
	Expires   time.Time // invisible from then on; zero is never
	Version   int64     // changes with each write; set by Add and Replace
}

// Add stores a new record and returns it with its version. The error is ErrExists if the kind has a record with this
// ID, even of another principal, or ErrFull, with the limit, if its principal has too many.
func (s *Records) Add(ctx context.Context, k Kind, r Record) (Record, error) {
	now := s.db.now()
	r.Created = timeOf(stampOf(now))
	err := s.db.write(ctx, []scope{recordScope(k, r.Principal)}, func(ctx context.Context, tx querier) (err error) {
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
		if r.Version, err = s.db.next(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			k, r.ID, r.Principal, r.Label, notNil(r.Data), stampOf(r.Created), stampOf(r.Expires), r.Version)
		return err
	})
	return r, err
}

// recordScope is that of a principal's records of a kind, which are bounded together.
func recordScope(k Kind, principal string) scope {
	return scope{name: "records\x00" + string(k) + "\x00" + principal}
}

// makeRoom enforces the limits of a kind.
func makeRoom(ctx context.Context, tx querier, k Kind, r Record) error {
	b := bounds(k)
	full := fmt.Errorf("%w: one caller has %d at most, of %d MiB in all", ErrFull, b.count, b.bytes>>20)
	if int64(len(r.Data)) > b.bytes {
		return errors.Join(ErrTooLarge, full)
	}
	if b.below != nil {
		if err := makeRoomBelow(ctx, tx, k, *b.below, r); err != nil {
			return err
		}
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
		var gone int64
		if b.below != nil && r.Principal == identity.Anonymous {
			gone, err = removeFromLargest(ctx, tx, k, r, count >= b.count)
		} else {
			gone, err = removeOldest(ctx, tx, k, b, r.Principal, count)
		}
		if err != nil {
			return err
		}
		if gone == 0 {
			return full
		}
	}
}

// removeOldest removes an eighth of the records of a principal that may be removed for others, and returns their number.
func removeOldest(ctx context.Context, tx querier, k Kind, b bound, principal string, count int) (n int64, err error) {
	order, many := "created, version", max(1, count/8)
	if b.unused {
		order, many = "expires, version", 1
	}
	gone, err := tx.ExecContext(ctx, `DELETE FROM records WHERE kind = ? AND id IN (
		SELECT id FROM records WHERE kind = ? AND principal = ? AND (? OR plugin = ?) ORDER BY `+order+` LIMIT ?)`,
		k, k, principal, b.evict, Done, many)
	if err != nil {
		return 0, err
	}
	return gone.RowsAffected()
}

// makeRoomBelow enforces the limits of the records below one session: the oldest are removed.
func makeRoomBelow(ctx context.Context, tx querier, k Kind, b bound, r Record) error {
	session := sessionOf(r.ID)
	if int64(len(r.Data)) > b.bytes {
		return fmt.Errorf("%w: one session has %d MiB at most", ErrTooLarge, b.bytes>>20)
	}
	for {
		var count int
		var bytes int64
		err := tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(length(data)), 0) FROM records WHERE kind = ? AND id > ? AND id < ?",
			k, session+"/", session+"0").Scan(&count, &bytes)
		if err != nil || count < b.count && bytes+int64(len(r.Data)) <= b.bytes {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM records WHERE kind = ? AND id IN (
			SELECT id FROM records WHERE kind = ? AND id > ? AND id < ? ORDER BY created, version LIMIT ?)`,
			k, k, session+"/", session+"0", max(1, count/8))
		if err != nil {
			return err
		}
	}
}

const recordColumns = "id, principal, plugin, data, created, expires, version"

// Get returns a record. The error is ErrNotFound if there is none, or if it has expired.
func (s *Records) Get(ctx context.Context, k Kind, id string) (Record, error) {
	return get(ctx, s.db, scanRecord, "SELECT "+recordColumns+" FROM records WHERE kind = ? AND id = ? AND expires > ?",
		k, id, stampOf(s.db.now()))
}

// VersionOf returns the version of a record. The error is ErrNotFound if there is none, or if it has expired.
func (s *Records) VersionOf(ctx context.Context, k Kind, id string) (int64, error) {
	return get(ctx, s.db, scanNumber, "SELECT version FROM records WHERE kind = ? AND id = ? AND expires > ?", k, id, stampOf(s.db.now()))
}

func scanRecord(row scanner) (r Record, err error) {
	var created, expires int64
	err = row.Scan(&r.ID, &r.Principal, &r.Label, &r.Data, &created, &expires, &r.Version)
	r.Created, r.Expires = timeOf(created), timeOf(expires)
	return r, err
}

// Replace updates the data, label and expiry of the record with this ID and Version, and returns it with its new
// version. The error is ErrConflict if it was changed or removed.
func (s *Records) Replace(ctx context.Context, k Kind, r Record) (Record, error) {
	return s.ReplaceAndRemove(ctx, k, r, "")
}

// ReplaceAndRemove is Replace, and deletes records of another kind in the same transaction, those that exist.
func (s *Records) ReplaceAndRemove(ctx context.Context, k Kind, r Record, of Kind, ids ...string) (Record, error) {
	err := s.db.write(ctx, nil, func(ctx context.Context, tx querier) error {
		version, err := s.db.next(ctx, tx)
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, "UPDATE records SET data = ?, plugin = ?, expires = ?, version = ? WHERE kind = ? AND id = ? AND version = ? AND expires > ?",
			notNil(r.Data), r.Label, stampOf(r.Expires), version, k, r.ID, r.Version, stampOf(s.db.now()))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return orConflict(err)
		}
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", of, id); err != nil {
				return err
			}
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

// Remove deletes a record if it exists.
func (s *Records) Remove(ctx context.Context, k Kind, id string) error {
	return s.db.write(ctx, nil, func(ctx context.Context, tx querier) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", k, id)
		return err
	})
}

// RemoveVersion deletes a record if it still has this version. The error is ErrConflict if it was changed. One that is
// gone is no error.
func (s *Records) RemoveVersion(ctx context.Context, k Kind, id string, version int64) error {
	return s.db.write(ctx, nil, func(ctx context.Context, tx querier) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ? AND version = ?", k, id, version); err != nil {
			return err
		}
		there, err := s.current(ctx, tx, k, id)
		if err == nil && there != nil {
			return ErrConflict
		}
		return err
	})
}

// Version returns a number that changes with each Add, Replace and Commit of any process, and perhaps without. It is 0
// before the first write.
func (s *Records) Version(ctx context.Context) (n int64, err error) {
	n, err = get(ctx, s.db, scanNumber, s.db.engine.version())
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return n, err
}

// maxListed bounds the result of List, in records.
const maxListed = 1000

// List returns up to n records of a kind (at most 1000, the default for n = 0), sorted by ID, with IDs after after.
// An empty principal selects all principals.
func (s *Records) List(ctx context.Context, k Kind, principal, after string, n int) ([]Record, error) {
	if n <= 0 || n > maxListed {
		n = maxListed
	}
	return list(ctx, s.db, scanRecord, "SELECT "+recordColumns+` FROM records
		WHERE kind = ? AND id > ? AND (principal = ? OR ?) AND expires > ? ORDER BY id LIMIT ?`,
		k, after, principal, principal == "", stampOf(s.db.now()), n)
}

func scanNumber(row scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
