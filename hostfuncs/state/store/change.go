package store

import (
	"context"
	"database/sql"
	"errors"
)

// Change writes records of one principal in one transaction. change gets the data of each record, nil for one that is
// missing or has expired, and returns the new data. It may be called more than once, and its error leaves everything as
// it was. Data, Created and Version of the records are ignored. The error is ErrFull, with the limit, if the principal
// has too many.
func (s *Records) Change(ctx context.Context, k Kind, principal string, all []Record, change func(data [][]byte) ([][]byte, error)) error {
	return s.db.write(ctx, []scope{recordScope(k, principal)}, func(ctx context.Context, tx querier) error {
		was := make([][]byte, len(all))
		for i, r := range all {
			var err error
			if was[i], err = s.current(ctx, tx, k, r.ID); err != nil {
				return err
			}
		}
		next, err := change(was)
		if err != nil {
			return err
		}
		for i, r := range all {
			r.Principal, r.Data = principal, notNil(next[i])
			if err := s.put(ctx, tx, k, r, was[i] != nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Append adds records of one principal, without those whose ID exists already, and removes others of this principal, in one
// transaction. Created and Version of the records are ignored. The error is ErrFull, with the limit, if one is too large.
func (s *Records) Append(ctx context.Context, k Kind, principal string, add []Record, remove []string) error {
	return s.db.write(ctx, []scope{recordScope(k, principal)}, func(ctx context.Context, tx querier) error {
		for _, id := range remove {
			if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ? AND principal = ?", k, id, principal); err != nil {
				return err
			}
		}
		for _, r := range add {
			was, err := s.current(ctx, tx, k, r.ID)
			if err != nil {
				return err
			}
			if was != nil {
				continue
			}
			r.Principal, r.Data = principal, notNil(r.Data)
			if err := s.put(ctx, tx, k, r, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// current returns the data of a record, nil if there is none.
func (s *Records) current(ctx context.Context, tx querier, k Kind, id string) (data []byte, err error) {
	err = tx.QueryRowContext(ctx, "SELECT data FROM records WHERE kind = ? AND id = ? AND expires > ?", k, id, stampOf(s.db.now())).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return notNil(data), err
}

// put updates or adds a record.
func (s *Records) put(ctx context.Context, tx querier, k Kind, r Record, exists bool) error {
	version, err := s.db.next(ctx, tx)
	if err != nil {
		return err
	}
	if exists {
		_, err = tx.ExecContext(ctx, "UPDATE records SET data = ?, expires = ?, version = ? WHERE kind = ? AND id = ?", r.Data, stampOf(r.Expires), version, k, r.ID)
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", k, r.ID); err != nil { // it has expired
		return err
	}
	if err := makeRoom(ctx, tx, k, r); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		k, r.ID, r.Principal, r.Label, r.Data, stampOf(s.db.now()), stampOf(r.Expires), version)
	return err
}
