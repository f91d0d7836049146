package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// oldestServer is the oldest version of the server that is served: PostgreSQL 15.
const oldestServer = 150000

//go:embed postgres.1.sql
var postgres1 string

//go:embed postgres.2.sql
var postgres2 string

//go:embed postgres.3.sql
var postgres3 string

//go:embed postgres.4.sql
var postgres4 string

// migrations bring the schema from each version to the next. A published one never changes.
var migrations = []string{postgres1, postgres2, postgres3, postgres4}

// migrate brings the schema up to date. Several hosts may do so at a time.
func migrate(ctx context.Context, db *sql.DB) error {
	have, err := schemaVersion(ctx, db)
	if err != nil || have == len(migrations) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('sallyport schema', 0))"); err != nil {
		return err
	}
	if have, err = schemaVersion(ctx, tx); err != nil {
		return err
	}
	for i := have; i < len(migrations); i++ {
		if _, err := tx.ExecContext(ctx, migrations[i]); err != nil {
			return notAllowed(err, i+1)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE sallyport_schema SET version = $1", i+1); err != nil {
			return notAllowed(err, i+1)
		}
	}
	return tx.Commit()
}

// schemaVersion returns the version of the schema, 0 if there is none. A version that this program does not know is an
// error.
func schemaVersion(ctx context.Context, q querier) (have int, err error) {
	var server int
	var exists bool
	err = q.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int,
		EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'sallyport_schema')`).Scan(&server, &exists)
	switch {
	case err != nil:
		return 0, err
	case server < oldestServer:
		return 0, fmt.Errorf("the database server is PostgreSQL %d: %d is the oldest that is served", server/10000, oldestServer/10000)
	case !exists:
		return 0, nil
	}
	err = q.QueryRowContext(ctx, "SELECT version FROM sallyport_schema").Scan(&have)
	if err == nil && have > len(migrations) {
		err = fmt.Errorf("the database has a schema of version %d, this program knows %d: a newer sallyport serves it", have, len(migrations))
	}
	return have, err
}

// notAllowed adds advice to the error of a role that may not change the schema.
func notAllowed(err error, to int) error {
	var coded *pgconn.PgError
	if errors.As(err, &coded) && coded.Code == "42501" {
		return fmt.Errorf("the schema is to be brought to version %d, which this role may not: run \"sallyport doctor\" once as the owner of the schema: %w", to, err)
	}
	return err
}
