package store

import (
	"context"
	"database/sql"
)

// SQL returns the database of a store.
func (s *Store) SQL(ctx context.Context) (*sql.DB, error) { return s.db.opened(ctx, false) }
