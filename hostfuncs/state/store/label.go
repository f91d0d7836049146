package store

import (
	"context"
	"database/sql"
)

// Labelled returns the records of a kind with a label, sorted by label and ID, without their data. An empty label
// selects all records with a label except Done.
func (s *Records) Labelled(ctx context.Context, k Kind, label string) ([]Record, error) {
	db, err := s.db.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	condition := "plugin = ?"
	if label == "" {
		condition = "plugin > ? AND plugin <> '" + Done + "'"
	}
	rows, err := db.QueryContext(ctx, "SELECT id, principal, plugin, x'', created, expires, version FROM records WHERE kind = ? AND "+condition+" AND expires > ? ORDER BY plugin, id",
		k, label, stampOf(s.db.now()))
	return collect(rows, err, scanRecord)
}

// Below returns the records of a kind below prefix (their ID is prefix, a slash and more), sorted by ID.
func (s *Records) Below(ctx context.Context, k Kind, prefix string) (all []Record, err error) {
	db, err := s.db.reader(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT "+recordColumns+" FROM records WHERE kind = ? AND id > ? AND id < ? AND expires > ? ORDER BY id",
		k, prefix+"/", prefix+"0", stampOf(s.db.now())) // '0' follows '/' in ASCII
	return collect(rows, err, scanRecord)
}

// RemoveBelow removes the records that Below returns.
func (s *Records) RemoveBelow(ctx context.Context, k Kind, prefix string) error {
	db, err := s.db.reader(ctx)
	if db == nil || err != nil {
		return err
	}
	var found bool // a read is cheaper than a write transaction
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM records WHERE kind = ? AND id > ? AND id < ?)", k, prefix+"/", prefix+"0").Scan(&found)
	if err != nil || !found {
		return err
	}
	return s.db.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id > ? AND id < ?", k, prefix+"/", prefix+"0")
		return err
	})
}
