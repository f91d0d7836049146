package streamable

import (
	"container/list"
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/transport/outbox"
)

// session is what a legacy client began with initialize. It belongs to a principal; its id alone
// gives access to nothing.
type session struct {
	id        string // 130 random bits in base32, which is visible ASCII
	principal string
	conn      conn
	version   string // of the protocol
	box       *outbox.Outbox
	standing  *outbox.Stream  // what belongs to no request
	ctx       context.Context // of its calls: they go on when their client goes away
	cancel    context.CancelFunc

	calls sync.WaitGroup // whose answers go into the box
	mu    sync.Mutex
	ended bool // no more calls begin; guarded by mu

	// guarded by sessions.mu
	active int // requests
	used   time.Time
	place  *list.Element
}

// begin counts a call in; false means that the session has ended.
func (s *session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.calls.Add(1)
	return true
}

// end cancels what runs and waits for its answers; streams that are being read end with them.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.cancel()
	s.conn.Close()
	s.calls.Wait()
	s.box.Close()
}

// sessions are bounded in number and in the time they rest.
type sessions struct {
	max  int
	idle time.Duration
	now  func() time.Time

	mu     sync.Mutex
	closed bool
	byID   map[string]*session
	order  *list.List // of *session, the longest unused first
}

func newSessions(max int, idle time.Duration) *sessions {
	return &sessions{max: max, idle: idle, now: time.Now, byID: make(map[string]*session), order: list.New()}
}

// add begins a session. When there are too many, the longest unused one of the principal who has most has to go: another
// who has more than this one, or itself. If none rests, there is no new one, and add returns nil.
func (s *sessions) add(ctx context.Context, n *session) *session {
	n.id = rand.Text()
	n.ctx, n.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	gone := s.expire()
	if len(s.byID) >= s.max {
		gone = append(gone, s.evict(n.principal)...)
	}
	ok := len(s.byID) < s.max && !s.closed
	if ok {
		n.used = s.now()
		n.place = s.order.PushBack(n)
		s.byID[n.id] = n
	}
	s.mu.Unlock()
	endAll(gone)
	if !ok {
		n.cancel()
		return nil
	}
	return n
}

// acquire finds a session and keeps it from expiring until release.
func (s *sessions) acquire(id, principal string) *session {
	s.mu.Lock()
	gone := s.expire()
	found := s.byID[id]
	if found != nil && found.principal == principal {
		found.active++
		s.touch(found)
	} else {
		found = nil
	}
	s.mu.Unlock()
	endAll(gone)
	return found
}

// hold is acquire for who has the session already.
func (s *sessions) hold(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.active++
}

func (s *sessions) release(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.active--
	if s.byID[x.id] == x {
		s.touch(x)
	}
}

func (s *sessions) touch(x *session) {
	x.used = s.now()
	s.order.MoveToBack(x.place)
}

// remove ends a session, and reports whether there was one.
func (s *sessions) remove(id, principal string) bool {
	s.mu.Lock()
	found := s.byID[id]
	if found == nil || found.principal != principal {
		s.mu.Unlock()
		return false
	}
	s.drop(found)
	s.mu.Unlock()
	found.end()
	return true
}

// close ends all sessions, and lets none begin.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	var gone []*session
	for _, x := range s.byID {
		gone = append(gone, x)
		s.drop(x)
	}
	s.mu.Unlock()
	endAll(gone)
}

// expire takes out what has rested for too long; the caller ends it without the lock.
func (s *sessions) expire() (gone []*session) {
	limit := s.now().Add(-s.idle)
	for e := s.order.Front(); e != nil; {
		x := e.Value.(*session)
		if x.used.After(limit) {
			break
		}
		e = e.Next()
		if x.active == 0 {
			s.drop(x)
			gone = append(gone, x)
		}
	}
	return gone
}

// evict takes out the session that gives way to one more of a principal.
func (s *sessions) evict(principal string) []*session {
	of := map[string]int{}
	for _, x := range s.byID {
		of[x.principal]++
	}
	var found *session
	for e := s.order.Front(); e != nil; e = e.Next() {
		x := e.Value.(*session)
		mayGo := x.principal == principal || of[x.principal] > of[principal]
		if x.active == 0 && mayGo && (found == nil || of[x.principal] > of[found.principal]) {
			found = x
		}
	}
	if found == nil {
		return nil
	}
	s.drop(found)
	return []*session{found}
}

func (s *sessions) drop(x *session) {
	delete(s.byID, x.id)
	s.order.Remove(x.place)
}

func endAll(list []*session) {
	for _, x := range list {
		x.end()
	}
}
