package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// maxPool bounds the connections of one process, besides the one that listens.
	maxPool = 16
	// connectTime bounds the time to connect, unless the URL has connect_timeout.
	connectTime = 5 * time.Second
	// changeTime bounds one operation, so that a lost database is an error and not a wait.
	changeTime = time.Minute
	// lockTime bounds the wait for another transaction of a scope, and idleTime the life of a transaction whose process
	// is paused or cut off. The first is longer, so that such a process holds others up and does not refuse them.
	lockTime, idleTime = 45 * time.Second, 30 * time.Second
	// maxTries bounds the runs of a transaction that conflicts with others.
	maxTries = 10
	// retryPause is the base of the random pause between them.
	retryPause = 5 * time.Millisecond
)

// ErrUnavailable is returned if the database cannot be reached. What had to be stored is not, unless the error is
// ErrUnknown too.
var ErrUnavailable = errors.New("the database cannot be reached")

// ErrUnknown is returned with ErrUnavailable if the connection was lost during a commit: the change is stored whole or
// not at all.
var ErrUnknown = errors.New("whether the change was stored is not known")

// errURL has no part of the URL, which may have a password.
var errURL = errors.New("not the address of a PostgreSQL database, such as postgres://user@host/database")

// CheckURL reports whether a text is the address of a PostgreSQL database. Its error has no part of the text.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

func parseURL(url string) (*pgx.ConnConfig, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errURL
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTime)
	return config, nil
}

// postgres is the engine of a database that hosts on several machines share. Transactions read what is committed;
// those that check and then write hold advisory locks of their scopes, which end with them.
type postgres struct {
	url    string
	failed time.Time // of the last open, which the database's lock guards
	queues queues

	mu        sync.Mutex
	lost      bool // fail at once, until probe has reached the database again
	examining bool
	under     context.Context // of the operations under way
	end       context.CancelFunc

	ctx   context.Context // of probe
	stop  context.CancelFunc
	probe sync.WaitGroup
}

func newPostgres(url string) *postgres {
	e := &postgres{url: url}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.under, e.end = context.WithCancel(context.Background())
	return e
}

func (e *postgres) empty() bool       { return false }
func (e *postgres) next() string      { return "SELECT nextval('versions')" }
func (e *postgres) unchanged() string { return " FOR SHARE" }
func (e *postgres) version() string   { return "SELECT hashtextextended(pg_current_snapshot()::text, 0)" }

func (e *postgres) close() {
	e.stop()
	e.probe.Wait()
}

func (e *postgres) open(ctx context.Context) (*sql.DB, error) {
	config, err := parseURL(e.url)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if time.Since(e.failed) < probePause {
		return nil, ErrUnavailable // no second wait
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(configure))
	db.SetMaxOpenConns(maxPool)
	db.SetMaxIdleConns(maxPool)
	db.SetConnMaxIdleTime(time.Minute)
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	if err := migrate(ctx, db); err != nil {
		e.failed = time.Now()
		return nil, errors.Join(e.failure(ctx, nil, err), db.Close())
	}
	return db, nil
}

// configure bounds the waits of a connection, and has it commit to disk.
func configure(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('lock_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $2, false),
		set_config('statement_timeout', $3, false),
		set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`,
		millis(lockTime), millis(idleTime), millis(changeTime))
	return err
}

func millis(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

func (e *postgres) read(ctx context.Context, db *sql.DB, do func(context.Context, querier) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e.isLost() {
		return ErrUnavailable
	}
	inner, done := e.bounded(ctx, db)
	defer done()
	return e.failure(ctx, db, do(inner, numbered{db}))
}

func (e *postgres) settle(ctx context.Context, db *sql.DB, of scope) error {
	return e.change(ctx, db, []scope{of}, func(context.Context, querier) error { return nil }, func() error { return nil })
}

func (e *postgres) change(ctx context.Context, db *sql.DB, scopes []scope, do func(context.Context, querier) error, commit func() error) (err error) {
	if e.isLost() {
		return ErrUnavailable
	}
	leave, err := e.wait(ctx, scopes)
	if err != nil {
		return err
	}
	defer leave()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	inner, done := e.bounded(ctx, db)
	defer done()
	for try := 1; ; try++ {
		err = transact(inner, db, scopes, do, commit)
		if !conflict(err) || try == maxTries {
			return e.failure(ctx, db, err)
		}
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(retryPause) << try))):
		case <-inner.Done():
			return e.failure(ctx, db, err)
		case <-ctx.Done():
			return ctx.Err() // nothing was stored
		}
	}
}

// wait waits for the transactions of this process that exclude one of these scopes. It says nothing of the database that
// they are many.
func (e *postgres) wait(ctx context.Context, scopes []scope) (leave func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	leave, err = e.queues.enter(waiting, scopes)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: too many changes of one caller wait", ErrUnavailable)
	}
	return leave, err
}

// transact runs one transaction. Each of its statements reads what is committed when it begins, so that one that waited
// for a lock reads the changes of the transaction that had it.
func transact(ctx context.Context, db *sql.DB, scopes []scope, do func(context.Context, querier) error, commit func() error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	id, err := enter(ctx, tx, scopes)
	if err != nil {
		return err
	}
	if err := do(ctx, numbered{tx}); err != nil {
		return err
	}
	if err := commit(); err != nil {
		return err
	}
	if err = tx.Commit(); lost(err) || err != nil && ctx.Err() != nil {
		return committed(ctx, db, id, err)
	}
	return err
}

// enter locks the scopes, in one order for all, and returns the ID of the transaction.
func enter(ctx context.Context, tx *sql.Tx, scopes []scope) (id string, err error) {
	slices.SortFunc(scopes, func(a, b scope) int { return cmp.Compare(a.name, b.name) })
	var query strings.Builder
	query.WriteString("SELECT pg_current_xact_id()::text")
	into, args := []any{&id}, []any{}
	for i, s := range scopes {
		shared := ""
		if s.shared {
			shared = "_shared"
		}
		fmt.Fprintf(&query, ", pg_advisory_xact_lock%s(hashtextextended(encode($%d, 'hex'), 0))::text", shared, i+1)
		into, args = append(into, new(string)), append(args, []byte(s.name))
	}
	return id, tx.QueryRowContext(ctx, query.String(), args...).Scan(into...)
}

// committed finds out whether a transaction whose connection was lost during its commit was committed.
func committed(ctx context.Context, db *sql.DB, id string, was error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTime)
	defer cancel()
	for {
		var status sql.NullString
		err := db.QueryRowContext(ctx, "SELECT pg_xact_status($1::text::xid8)", id).Scan(&status)
		switch {
		case err == nil && status.String == "committed":
			return nil
		case err == nil && status.String == "aborted":
			return was
		case err != nil && !lost(err):
			return errors.Join(ErrUnknown, was)
		}
		select {
		case <-time.After(retryPause * 10):
		case <-ctx.Done():
			return errors.Join(ErrUnknown, was)
		}
	}
}

// conflict reports whether a transaction may succeed if it is run again: a serialization failure or a deadlock.
func conflict(err error) bool {
	var coded *pgconn.PgError
	return errors.As(err, &coded) && (coded.Code == "40001" || coded.Code == "40P01")
}

// lost reports whether an error means that the database was not reached, or does not serve at present.
func lost(err error) bool {
	var coded *pgconn.PgError
	var unconnected *pgconn.ConnectError
	var wire *net.OpError
	switch {
	case err == nil:
		return false
	case errors.As(err, &coded):
		switch coded.Code {
		case "57P01", "57P02", "57P03", "53300", "25006", "25P03": // shut down, starting, too many connections, read only, idle
			return true
		}
		return strings.HasPrefix(coded.Code, "08")
	case errors.As(err, &unconnected), errors.As(err, &wire):
		return true
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

// failure names an error of the database by the errors of this package. After a lost connection it has all operations
// fail at once, until the database is reached again. db is nil while it is being opened.
func (e *postgres) failure(ctx context.Context, db *sql.DB, err error) error {
	var coded *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	case lost(err), errors.Is(err, context.Canceled): // by examine
		e.lose(db)
		was := fmt.Errorf("%w: %v", ErrUnavailable, err) // the caller's context has not ended
		if errors.Is(err, ErrUnknown) {
			was = errors.Join(ErrUnknown, was)
		}
		return was
	case errors.As(err, &coded) && coded.Code == "23505": // another transaction added it between the check and the insert
		return ErrExists
	}
	return err
}

func (e *postgres) isLost() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost
}

// probePause is the pause between attempts to reach a lost database.
const probePause = 500 * time.Millisecond

// lose has operations fail until the database answers.
func (e *postgres) lose(db *sql.DB) {
	if db == nil {
		return // each operation tries to open it
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost || e.ctx.Err() != nil {
		return
	}
	e.lost = true
	e.probe.Go(func() {
		for !e.answers(db) {
			select {
			case <-time.After(probePause):
			case <-e.ctx.Done():
				return
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lost = false
	})
}

// answers reports whether the database answers a query.
func (e *postgres) answers(db *sql.DB) bool {
	ctx, cancel := context.WithTimeout(e.ctx, connectTime)
	defer cancel()
	var one int
	return db.QueryRowContext(ctx, "SELECT 1").Scan(&one) == nil
}

// numbered runs statements in the notation of SQLite: parameters are numbered, and texts are bytes, which may have NUL
// and are sorted alike on every server.
type numbered struct{ querier }

func (n numbered) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return n.querier.ExecContext(ctx, number(query), asBytes(args)...)
}

func (n numbered) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return n.querier.QueryContext(ctx, number(query), asBytes(args)...)
}

func (n numbered) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return n.querier.QueryRowContext(ctx, number(query), asBytes(args)...)
}

// number replaces each question mark by a numbered parameter. No statement has one in a literal.
func number(query string) string {
	var b strings.Builder
	for i := 1; ; i++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		fmt.Fprintf(&b, "$%d", i)
		query = after
	}
}

func asBytes(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = []byte(a)
		case Kind:
			args[i] = []byte(a)
		}
	}
	return args
}
