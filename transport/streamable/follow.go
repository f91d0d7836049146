package streamable

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// lookOften is the interval at which changes by other hosts are looked for in a store without notices.
	lookOften = 100 * time.Millisecond
	// lookRarely is that interval in a store with notices.
	lookRarely = 10 * time.Second
)

// notices are the changes of sessions by other hosts that this process has not followed yet. It is safe for concurrent use.
type notices struct {
	wake chan struct{} // capacity 1

	mu       sync.Mutex
	all      bool
	sessions map[string]bool
	turns    map[string][]string               // sessions to be followed, by a principal of which one is being followed
	readers  map[string]map[chan struct{}]bool // of events of other hosts, by session
}

func newNotices() *notices {
	return &notices{wake: make(chan struct{}, 1), sessions: map[string]bool{}, turns: map[string][]string{}, readers: map[string]map[chan struct{}]bool{}}
}

// note records a notice of the store, for a session that serves reports as known.
func (n *notices) note(k store.Kind, session string, serves func(id string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if session == "" || k == store.Event {
		n.ring(session)
	}
	switch {
	case session == "":
		n.all = true
	case k == store.Event || !serves(session):
		return
	default:
		n.sessions[session] = true
	}
	signal(n.wake)
}

// ring wakes the readers of the events of a session, "" for all. The caller holds mu.
func (n *notices) ring(session string) {
	for id, readers := range n.readers {
		if session == "" || id == session {
			for c := range readers {
				signal(c)
			}
		}
	}
}

// reader returns a channel that receives when a session may have new events in the store.
func (n *notices) reader(session string) (news <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.readers[session] == nil {
		n.readers[session] = map[chan struct{}]bool{}
	}
	n.readers[session][c] = true
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if delete(n.readers[session], c); len(n.readers[session]) == 0 {
			delete(n.readers, session)
		}
	}
}

// take returns the noted sessions, and whether all may have changed.
func (n *notices) take() (sessions map[string]bool, all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sessions, all = n.sessions, n.all
	n.sessions, n.all = map[string]bool{}, false
	return sessions, all
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is pending
	}
}

// follow follows the changes that other hosts make to the sessions of this process, until the handler is closed.
func (h *Handler) follow() {
	n := h.pool.notices
	stop, told := h.pool.store.OnSession(func(k store.Kind, session string) { n.note(k, session, h.sessions.has) })
	defer stop()
	interval := lookOften
	if told {
		interval = lookRarely
	}
	look := time.NewTicker(interval)
	defer look.Stop()
	for {
		select {
		case <-n.wake:
		case <-look.C:
			n.note("", "", nil)
		case <-h.ctx.Done():
			return
		}
		changed, all := n.take()
		if all {
			changed = h.sessions.inUse()
		}
		for id := range changed {
			h.turn(id)
		}
	}
}

// turn follows a session after the others of its principal that changed before: the store may have the changes of one
// principal wait, and no other one is to wait for them.
func (h *Handler) turn(id string) {
	s, n := h.sessions.peek(id), h.pool.notices
	if s == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list, busy := n.turns[s.principal]
	if !slices.Contains(list, id) {
		n.turns[s.principal] = append(list, id)
	}
	if busy {
		return
	}
	h.following.Go(func() {
		for id, ok := n.next(s.principal); ok; id, ok = n.next(s.principal) {
			h.update(h.ctx, id)
		}
	})
}

// next returns the next session of a principal to be followed.
func (n *notices) next(principal string) (id string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.turns[principal]
	if len(list) == 0 {
		delete(n.turns, principal)
		return "", false
	}
	n.turns[principal] = list[1:]
	return list[0], true
}

// update follows the record of one session.
func (h *Handler) update(ctx context.Context, id string) {
	s := h.sessions.peek(id)
	if s == nil {
		return
	}
	switch r, renew, err := h.pool.read(ctx, id, s.principal); {
	case err == nil:
		if s.adopt(r); renew && h.sessions.uses(s) { // by a stream, perhaps, whose client sends nothing
			h.pool.renew(ctx, s)
		}
		h.deliver(ctx, s)
	case errors.Is(err, store.ErrNotFound):
		h.following.Go(func() { h.sessions.remove(id, s.principal) })
	}
}

// has reports whether this process serves a session that others may serve too.
func (s *sessions) has(id string) bool { return s.peek(id) != nil }

// peek returns such a session without keeping it from expiring.
func (s *sessions) peek(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.byID[id]; x != nil && x.pooled {
		return x
	}
	return nil
}

// uses reports whether a session has a request or stream in this process.
func (s *sessions) uses(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return x.active > 0
}

// inUse returns the IDs of such sessions with a request, a stream, an open question or a message that its client has not got
// in this process.
func (s *sessions) inUse() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]bool{}
	for id, x := range s.byID {
		if x.pooled && (x.active > 0 || x.conn.Waiting() > 0 || x.standing.owes()) {
			all[id] = true
		}
	}
	return all
}
