package store

import (
	"context"
	"strings"
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
	return w.listener.add("")
}

// OnLock is On for changes of records of the kind Lock.
func (w *Wakes) OnLock() (wake <-chan struct{}, stop func()) {
	if w.listener == nil {
		return nil, func() {}
	}
	return w.listener.add(lockTopic)
}

// lockTopic is the payload of notices of the lock.
const lockTopic = "lock"

// OnSession has f called after each change of a session, its events or its mail, perhaps by other hosts, with the kind and the
// ID of the session, both "" after changes may have been missed. f must not block. In a store without notices it is never
// called, and ok is false.
func (w *Wakes) OnSession(f func(k Kind, session string)) (stop func(), ok bool) {
	if w.listener == nil {
		return func() {}, false
	}
	return w.listener.hear(f), true
}

// listener listens on one connection of its own, from the first user on.
type listener struct {
	url string

	mu       sync.Mutex
	users    map[chan struct{}]string // their topic, "" for all that have none of their own
	sessions map[*func(Kind, string)]bool
	began    bool

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

func newListener(url string) *listener {
	ctx, stop := context.WithCancel(context.Background())
	return &listener{url: url, users: map[chan struct{}]string{}, sessions: map[*func(Kind, string)]bool{}, ctx: ctx, stop: stop}
}

func (l *listener) add(topic string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users[c] = topic
	l.begin()
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.users, c)
	}
}

func (l *listener) hear(f func(Kind, string)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions[&f] = true
	l.begin()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.sessions, &f)
	}
}

// begin listens from the first user on. The caller holds mu.
func (l *listener) begin() {
	if !l.began && l.ctx.Err() == nil {
		l.began = true
		l.work.Go(l.run)
	}
}

// run listens, and connects again after an error.
func (l *listener) run() {
	for l.ctx.Err() == nil {
		_ = l.listen()
		l.missed()
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
	l.missed()
	for {
		n, err := c.WaitForNotification(l.ctx)
		if err != nil {
			return err
		}
		if kind, session, is := strings.Cut(n.Payload, " "); is {
			l.tell(Kind(kind), session)
		} else if n.Payload == lockTopic {
			l.wake(lockTopic)
		} else {
			l.wake("")
		}
	}
}

// missed wakes all users, as changes may have been missed.
func (l *listener) missed() {
	l.wake("")
	l.wake(lockTopic)
	l.tell("", "")
}

func (l *listener) tell(k Kind, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.sessions {
		(*f)(k, session)
	}
}

// wake wakes the users of a topic.
func (l *listener) wake(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, of := range l.users {
		if of != topic {
			continue
		}
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
