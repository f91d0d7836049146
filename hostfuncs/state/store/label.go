package store

import (
	"context"
	"errors"
)

// Labelled returns the records of a kind with a label, sorted by label and ID, without their data. An empty label
// selects all records with a label except Done.
func (s *Records) Labelled(ctx context.Context, k Kind, label string) ([]Record, error) {
	condition := "plugin = ?"
	if label == "" {
		condition = "plugin > ? AND plugin <> '" + Done + "'"
	}
	return list(ctx, s.db, scanRecord, "SELECT id, principal, plugin, '', created, expires, version FROM records WHERE kind = ? AND "+condition+" AND expires > ? ORDER BY plugin, id",
		k, label, stampOf(s.db.now()))
}

// Tally returns the number of records of a kind with a label except Done, and of those without one.
func (s *Records) Tally(ctx context.Context, k Kind) (labelled, unlabelled int, err error) {
	count := func(condition string) (int64, error) {
		n, err := get(ctx, s.db, scanNumber, "SELECT count(*) FROM records WHERE kind = ? AND "+condition+" AND expires > ?", k, stampOf(s.db.now()))
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return n, err
	}
	// The index has the labels in their order, and no finished record is counted. Labels begin with a letter or a digit.
	with, err := count("plugin > '" + Done + "'")
	if err != nil {
		return 0, 0, err
	}
	without, err := count("plugin = ''")
	return int(with), int(without), err
}

// Below returns the records of a kind below prefix (their ID is prefix, a slash and more), sorted by ID.
func (s *Records) Below(ctx context.Context, k Kind, prefix string) ([]Record, error) {
	return list(ctx, s.db, scanRecord, "SELECT "+recordColumns+" FROM records WHERE kind = ? AND id > ? AND id < ? AND expires > ? ORDER BY id",
		k, prefix+"/", prefix+"0", stampOf(s.db.now())) // '0' follows '/' in ASCII
}

// NamesBelow is Below without the data of the records.
func (s *Records) NamesBelow(ctx context.Context, k Kind, prefix string) ([]Record, error) {
	return list(ctx, s.db, scanRecord, "SELECT id, principal, plugin, '', created, expires, version FROM records WHERE kind = ? AND id > ? AND id < ? AND expires > ? ORDER BY id",
		k, prefix+"/", prefix+"0", stampOf(s.db.now()))
}

// After is Below for the IDs after one of them, up to n records.
func (s *Records) After(ctx context.Context, k Kind, prefix, id string, n int) ([]Record, error) {
	return list(ctx, s.db, scanRecord, "SELECT "+recordColumns+" FROM records WHERE kind = ? AND id > ? AND id < ? AND expires > ? ORDER BY id LIMIT ?",
		k, max(prefix+"/", id), prefix+"0", stampOf(s.db.now()), n)
}

// RemoveBelow removes the records that Below returns.
func (s *Records) RemoveBelow(ctx context.Context, k Kind, prefix string) error {
	// A read is cheaper than a write transaction.
	_, err := get(ctx, s.db, scanNumber, "SELECT 1 FROM records WHERE kind = ? AND id > ? AND id < ? LIMIT 1", k, prefix+"/", prefix+"0")
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.db.write(ctx, nil, func(ctx context.Context, tx querier) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id > ? AND id < ?", k, prefix+"/", prefix+"0")
		return err
	})
}
