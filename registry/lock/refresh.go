package lock

import (
	"context"
	"time"
)

// Refresh reads the lock again if it changed. It also reports changes that update found since the last Refresh. On
// error nothing changes; each error is returned once.
func (l *Lock) Refresh(ctx context.Context) (changed bool, err error) {
	if l.Unread() != nil {
		return l.refreshUnread(ctx)
	}
	now, err := l.place.look(ctx)
	if err != nil {
		return false, l.once(err)
	}
	same, news := l.looked(now)
	if same {
		return news, l.once(nil)
	}
	pins, read, err := l.place.read(ctx)
	if err != nil {
		l.unreadable(now)
		return false, l.once(err)
	}
	l.refresh(pins, now, read)
	return true, l.once(nil)
}

// unreadable has the next Refresh read a database again. A file that cannot be read is read when it has changed.
func (l *Lock) unreadable(now state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed = l.o.Store != nil && l.failed; l.o.Store != nil && l.seen == now {
		l.seen = unknown
	}
}

// refreshUnread tries to read the lock for the first time.
func (l *Lock) refreshUnread(ctx context.Context) (changed bool, err error) {
	if err := l.begin(ctx); err != nil {
		return false, l.once(err)
	}
	return true, l.once(nil)
}

// once returns an error unless the call before did.
func (l *Lock) once(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.failed
	if l.failed = err != nil; before {
		return nil
	}
	return err
}

// looked notes a state, and reports whether it is that which was read last, and, if so, whether update has found a change.
func (l *Lock) looked(now state) (same, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same, news = l.seen.same(now), l.news
	l.seen = now
	l.news = news && !same
	return same, news
}

// refresh takes the pins that were read after a look, unless update has written since: its pins are newer.
func (l *Lock) refresh(pins map[string]Pin, now, read state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == now {
		l.take(pins, read)
		l.news = false
	}
}

// Restored reports, once for each time, whether the record of a database was replaced by an older one: approvals that this
// process knew are gone.
func (l *Lock) Restored() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	older := l.older
	l.older = false
	return older
}

// lookAtDatabase is the interval at which a database is looked at, besides its notices, which may be lost.
const lookAtDatabase = 2 * time.Second

// Changes returns a channel of a lock in a database that receives after changes by other hosts, and the interval at which
// to Refresh besides.
func (l *Lock) Changes() (wake <-chan struct{}, every time.Duration, stop func()) {
	wake, stop = l.o.Store.OnLock()
	return wake, lookAtDatabase, stop
}
