package store

import (
	"context"
	"database/sql"
)

// Migrations are the scripts that bring a schema from each version to the next.
func Migrations() []string { return migrations }

// SQL returns the database of a store.
func (s *Store) SQL(ctx context.Context) (*sql.DB, error) { return s.db.opened(ctx, false) }
