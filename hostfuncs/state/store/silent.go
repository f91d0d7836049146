package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
)

// slowTime is the time after which an operation makes sure that the database answers at all: a network that loses
// packets reports no error, and a slow database has changeTime.
const slowTime = 3 * time.Second

// bounded returns the context of one operation. It ends after changeTime, and when the database does not answer. It does not
// end with ctx: an operation that ends in its middle ends its connection too, and callers that come and go would have the
// host without connections.
func (e *postgres) bounded(ctx context.Context, db *sql.DB) (inner context.Context, done func()) {
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeTime)
	e.mu.Lock()
	ended := context.AfterFunc(e.under, cancel)
	e.mu.Unlock()
	slow := time.AfterFunc(slowTime, func() { e.examine(db) })
	return inner, func() {
		slow.Stop()
		ended()
		cancel()
	}
}

// examine ends the operations under way if the database does not answer on a new connection either.
func (e *postgres) examine(db *sql.DB) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost || e.examining || e.ctx.Err() != nil {
		return
	}
	e.examining = true
	e.probe.Go(func() {
		reached := e.reaches()
		if !reached {
			e.lose(db)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.examining = false
		if !reached {
			e.end()
			e.under, e.end = context.WithCancel(context.Background())
		}
	})
}

// reaches reports whether the database answers on a new connection.
func (e *postgres) reaches() bool {
	config, err := parseURL(e.url)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(e.ctx, connectTime)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close(ctx) }()
	return c.Ping(ctx) == nil
}
