package store

import (
	"context"
	"errors"
	"os"
)

// errNoBackup is returned by Backup of a store in PostgreSQL, whose own programs make backups.
var errNoBackup = errors.New("the store is in PostgreSQL: pg_dump makes its backup")

// Backup writes a copy of the store, as it is at one moment, to a new file. Other processes may write meanwhile. The
// error is ErrNotFound if nothing was ever written.
func (s *Store) Backup(ctx context.Context, file string) error {
	if s.listener != nil {
		return errNoBackup
	}
	db, err := s.db.opened(ctx, true)
	if err == nil && db == nil {
		err = ErrNotFound
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // empty, for the mode
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		return err
	}
	return f.Sync()
}
