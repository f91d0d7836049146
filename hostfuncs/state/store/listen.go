package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Wakes are notices of changes by other hosts.
type Wakes struct{ listener *listener } // nil if there are none

// On returns a channel that receives after tasks, questions or grants have changed, perhaps by other hosts, and at times
// without a change. It is nil in a store without notices: its users look from time to time, with notices too.
func (w *Wakes) On() (wake <-chan struct{}, stop func()) {
	if w.listener == nil {
		return nil, func() {}
	}
	return w.listener.add()
}

// listener listens on one connection of its own, from the first user on.
type listener struct {
	url string

	mu    sync.Mutex
	users map[chan struct{}]bool
	began bool

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

func newListener(url string) *listener {
	ctx, stop := context.WithCancel(context.Background())
	return &listener{url: url, users: map[chan struct{}]bool{}, ctx: ctx, stop: stop}
}

func (l *listener) add() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users[c] = true
	if !l.began && l.ctx.Err() == nil {
		l.began = true
		l.work.Go(l.run)
	}
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.users, c)
	}
}

// run listens, and connects again after an error.
func (l *listener) run() {
	for l.ctx.Err() == nil {
		_ = l.listen()
		l.wake()
		select {
		case <-time.After(probePause):
		case <-l.ctx.Done():
		}
	}
}

// listen wakes the users at each notice, and once before, as changes may have been missed.
func (l *listener) listen() error {
	config, err := parseURL(l.url)
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(l.ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(l.ctx)) }()
	if _, err := c.Exec(l.ctx, "LISTEN sallyport"); err != nil {
		return err
	}
	for {
		l.wake()
		if _, err := c.WaitForNotification(l.ctx); err != nil {
			return err
		}
	}
}

func (l *listener) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.users {
		select {
		case c <- struct{}{}:
		default: // one is pending
		}
	}
}

func (l *listener) close() {
	if l == nil {
		return
	}
	l.stop()
	l.work.Wait()
}
