package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// maxConns bounds the connections of one process. SQLite allows only one writer at a time.
const maxConns = 4

// sweepEvery is the interval at which writers remove expired data.
const sweepEvery = time.Minute

// database holds the tables of a store, in one of two engines. Its statements are in the notation of SQLite, and of
// the kind that both engines take.
type database struct {
	engine  engine
	now     func() time.Time
	reached func(step string) error
	took    func(operation string, d time.Duration, err error)

	mu     sync.Mutex
	sql    *sql.DB // nil before the first use
	closed bool
	swept  time.Time
}

// engine is the part of a database in which SQLite and PostgreSQL differ.
type engine interface {
	// empty reports that nothing was ever written, without opening the database.
	empty() bool
	// open opens the database, and creates its tables or brings them up to date.
	open(ctx context.Context) (*sql.DB, error)
	// read runs one query.
	read(ctx context.Context, db *sql.DB, do func(context.Context, querier) error) error
	// change runs one transaction, in which no other changes data of the same scopes. It may call do again after a
	// conflict, until commit was called.
	change(ctx context.Context, db *sql.DB, scopes []scope, do func(context.Context, querier) error, commit func() error) error
	// settle waits for the transactions of a scope, also for those whose connection is lost.
	settle(ctx context.Context, db *sql.DB, of scope) error
	// version is a query for Records.Version, and next a statement that returns a version that no write had before.
	version() string
	next() string
	// unchanged is the end of a query in a transaction, whose rows then do not change before its end.
	unchanged() string
	close()
}

// querier is a transaction, or a database.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scope names data that only one transaction changes at a time.
type scope struct {
	name   string
	shared bool // with other transactions that share it
}

// consentScope is that of all questions and grants, which people change.
var consentScope = []scope{{name: "consent"}}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.engine.close()
	if d.sql == nil {
		return nil
	}
	db := d.sql
	d.sql = nil
	return db.Close()
}

// opened returns the open database. With read, it returns nil if nothing was ever written.
func (d *database) opened(ctx context.Context, read bool) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, ErrClosed
	case d.sql != nil:
		return d.sql, nil
	case read && d.engine.empty():
		return nil, nil
	}
	db, err := d.engine.open(context.WithoutCancel(ctx))
	if err == nil {
		d.sql = db
	}
	return db, err
}

// read runs a query. The error is ErrNotFound if nothing was ever written.
func (d *database) read(ctx context.Context, do func(context.Context, querier) error) (err error) {
	defer d.timed(OperationRead, time.Now(), &err)
	if err := d.reached("read"); err != nil {
		return err
	}
	db, err := d.opened(ctx, true)
	if err != nil {
		return err
	}
	if db == nil {
		return ErrNotFound
	}
	return d.engine.read(ctx, db, do)
}

type scanner interface{ Scan(...any) error }

// get returns the one row of a query. The error is ErrNotFound if there is none.
func get[T any](ctx context.Context, d *database, scan func(scanner) (T, error), query string, args ...any) (x T, err error) {
	err = d.read(ctx, func(ctx context.Context, q querier) (err error) {
		x, err = scan(q.QueryRowContext(ctx, query, args...))
		return one(err)
	})
	return x, err
}

// list returns all rows of a query.
func list[T any](ctx context.Context, d *database, scan func(scanner) (T, error), query string, args ...any) (all []T, err error) {
	err = d.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			x, err := scan(rows)
			if err != nil {
				return err
			}
			all = append(all, x)
		}
		return rows.Err()
	})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return all, err
}

// settle waits for the transactions of a scope.
func (d *database) settle(ctx context.Context, of scope) error {
	db, err := d.opened(ctx, true)
	if db == nil || err != nil {
		return err
	}
	return d.engine.settle(ctx, db, of)
}

// write runs one transaction, and occasionally removes expired data before.
func (d *database) write(ctx context.Context, scopes []scope, do func(context.Context, querier) error) (err error) {
	defer d.timed(OperationWrite, time.Now(), &err)
	if err := d.reached("begin"); err != nil {
		return err
	}
	db, err := d.opened(ctx, false)
	if err != nil {
		return err
	}
	if err := d.sweep(ctx, db); err != nil {
		return err
	}
	fenced := func(ctx context.Context, tx querier) error {
		if err := d.fenced(ctx, tx); err != nil {
			return err
		}
		return do(ctx, tx)
	}
	if err := d.engine.change(ctx, db, scopes, fenced, func() error { return d.reached("commit") }); err != nil {
		return err
	}
	return d.reached("committed")
}

// The operations of Options.Took.
const (
	OperationRead  = "read"
	OperationWrite = "write"
)

// timed tells the time of an operation at its end.
func (d *database) timed(operation string, began time.Time, err *error) {
	d.took(operation, time.Since(began), *err)
}

// sweep removes expired data, unless that was done lately.
func (d *database) sweep(ctx context.Context, db *sql.DB) error {
	now := d.now()
	d.mu.Lock()
	due := now.Sub(d.swept) >= sweepEvery
	if due {
		d.swept = now
	}
	d.mu.Unlock()
	if !due {
		return nil
	}
	return d.engine.change(ctx, db, []scope{{name: "sweep"}}, func(ctx context.Context, q querier) error {
		for _, table := range []string{"records", "kv", "questions", "grants"} {
			if _, err := q.ExecContext(ctx, "DELETE FROM "+table+" WHERE expires <= ?", stampOf(now)); err != nil {
				return err
			}
		}
		return nil
	}, func() error { return nil })
}

// never is the stamp of data without expiry.
const never = 1<<63 - 1

// stampOf converts a time to milliseconds since 1970. The zero time is never.
func stampOf(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixMilli()
}

func timeOf(stamp int64) time.Time {
	if stamp == never {
		return time.Time{}
	}
	return time.UnixMilli(stamp)
}

// next returns a version: no two writes of this database have the same.
func (d *database) next(ctx context.Context, q querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, d.engine.next()).Scan(&n)
	return n, err
}

// one converts sql.ErrNoRows to ErrNotFound.
func one(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
