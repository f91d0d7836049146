package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// leaseTime is the time after which a host that no longer renews its names is gone, by the clock of the database.
	leaseTime = 15 * time.Second
	// renewEvery is the interval of renewals.
	renewEvery = leaseTime / 3
)

// leases hold names in a database. A host that is paused or cut off for longer loses them for as long: others may take
// over its tasks meanwhile, whose records it then finds changed.
type leases struct {
	db *database

	mu      sync.Mutex
	held    map[string]bool
	steady  time.Time // until when other hosts have time to renew, after the database was away
	ctx     context.Context
	stop    context.CancelFunc
	renewal sync.WaitGroup
}

func newLeases(d *database) *leases {
	ctx, stop := context.WithCancel(context.Background())
	return &leases{db: d, held: map[string]bool{}, ctx: ctx, stop: stop}
}

const leaseUntil = "clock_timestamp() + make_interval(secs => ?)"

func (l *leases) hold(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return ErrClosed
	case l.held[name]:
		return nil
	}
	err := l.change(l.ctx, func(ctx context.Context, q querier) error {
		n, err := changes(q.ExecContext(ctx, "INSERT INTO presence VALUES (?, "+leaseUntil+") ON CONFLICT (name) DO NOTHING", name, leaseTime.Seconds()))
		if err == nil && n == 0 {
			err = ErrExists
		}
		return err
	})
	if err != nil {
		return err
	}
	if l.held[name] = true; len(l.held) == 1 {
		l.renewal.Go(l.renew)
	}
	return nil
}

// change runs a transaction that is no step of a write, for Options.Reached.
func (l *leases) change(ctx context.Context, do func(context.Context, querier) error) error {
	db, err := l.db.opened(ctx, false)
	if err != nil {
		return err
	}
	return l.db.engine.change(ctx, db, nil, do, func() error { return nil })
}

// renew renews the names until the store is closed.
func (l *leases) renew() {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.ctx.Done():
			return
		}
		err := l.change(l.ctx, l.renewAll)
		l.mu.Lock()
		if err != nil {
			l.steady = time.Now().Add(leaseTime)
		}
		l.mu.Unlock()
	}
}

// renewAll renews each name. One that had ended is held again: the database was away, or this process was.
func (l *leases) renewAll(ctx context.Context, q querier) error {
	for _, name := range l.names() {
		if _, err := q.ExecContext(ctx, "INSERT INTO presence VALUES (?, "+leaseUntil+") ON CONFLICT (name) DO UPDATE SET until = excluded.until", name, leaseTime.Seconds()); err != nil {
			return err
		}
	}
	_, err := q.ExecContext(ctx, "DELETE FROM presence WHERE until < clock_timestamp() - make_interval(days => 1)")
	return err
}

func (l *leases) names() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.held {
		all = append(all, name)
	}
	return all
}

// gone is false after the database was away, for the time in which other hosts renew their names.
func (l *leases) gone(name string) bool {
	l.mu.Lock()
	mine, waits := l.held[name], time.Now().Before(l.steady)
	l.mu.Unlock()
	if mine || waits {
		return false
	}
	_, err := get(l.ctx, l.db, scanNumber, "SELECT 1 FROM presence WHERE name = ? AND until > clock_timestamp()", name)
	return errors.Is(err, ErrNotFound)
}

func (l *leases) release() {
	l.stop()
	l.renewal.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	for _, name := range l.names() {
		err := l.change(ctx, func(ctx context.Context, q querier) error {
			_, err := q.ExecContext(ctx, "DELETE FROM presence WHERE name = ?", name)
			return err
		})
		if err != nil {
			return // they end by themselves
		}
	}
}
