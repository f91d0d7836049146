package streamable

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// sessionIdle is the lifetime of an unused session, long enough for a break. A client begins a new session if its own has
// expired.
const sessionIdle = time.Hour

// session is a legacy client's session, begun with initialize. It belongs to a principal: its ID alone grants no
// access.
type session struct {
	id        string // 130 random bits in base32, which is visible ASCII
	principal string
	conn      conn
	version   string // protocol revision
	box       *outbox
	standing  *eventStream    // messages that belong to no request
	ctx       context.Context // of its calls, which continue after a disconnect
	cancel    context.CancelFunc

	mail      *saver          // of messages for other hosts; nil if there are none
	delivered map[string]bool // mail that is not for this process; used by Handler.turn alone
	plugins   string          // protocol.ConnOptions.Session
	pooled    bool            // other hosts serve it too, by its record in the pool
	following sync.Mutex      // guards seq, and the order of states
	seq       uint64          // of the record

	calls sync.WaitGroup // calls with responses for the box
	mu    sync.Mutex
	ended bool // no new calls; guarded by mu

	// guarded by sessions.mu
	active int // number of requests
	used   time.Time
	place  *list.Element
}

// begin counts a call. It returns false if the session has ended.
func (s *session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.calls.Add(1)
	return true
}

// reader returns a reader of the events of a session after lastEventID, or of the messages that belong to no request if it is
// "". The caller calls stop after it.
func (x *exchange) reader(s *session, lastEventID string) (reader *eventReader, stop func(), f *refusal) {
	reader, ok := (*eventReader)(nil), true
	if s.pooled && (lastEventID == "" || strings.HasPrefix(lastEventID, s.standing.name()+"-")) {
		x.h.pool.stand(x.r.Context(), s, "", 0) // before it is open: a record of before would end it
	}
	if lastEventID == "" {
		reader = s.standing.open()
	} else {
		reader, ok = s.box.resume(lastEventID)
	}
	switch {
	case !ok && s.pooled:
		reader, stop, f = x.resumeElsewhere(s, lastEventID)
	case !ok:
		f = notKept(lastEventID)
	default:
		stop = func() {}
	}
	if f == nil && reader.of(s.standing) {
		s.standing.save(nil)
	}
	return reader, stop, f
}

// end cancels calls in flight and waits for their responses. Streams that are being read end with them.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.cancel()
	s.conn.Close()
	s.calls.Wait()
	s.box.close()
}

// sessions are bounded in number and idle time.
type sessions struct {
	max  int
	idle time.Duration
	now  func() time.Time

	mu     sync.Mutex
	closed bool
	byID   map[string]*session
	order  *list.List // of *session, least recently used first
}

func newSessions(max int, idle time.Duration) *sessions {
	return &sessions{max: max, idle: idle, now: time.Now, byID: make(map[string]*session), order: list.New()}
}

// add begins a session. At the limit, the least recently used idle session is evicted, of the principal with the most
// if those are more than this principal's, or of this principal; if none is idle, one in use of a principal with more. If
// there is none to evict, add returns nil.
func (s *sessions) add(ctx context.Context, n *session) *session {
	n.id = rand.Text()
	if s.join(ctx, n) == nil {
		return nil
	}
	s.release(n)
	return n
}

// join is add for a session with an ID, and acquires it. If this process has one with the ID already, join returns that one.
func (s *sessions) join(ctx context.Context, n *session) *session {
	n.ctx, n.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	if there := s.byID[n.id]; there != nil {
		there.active++
		s.mu.Unlock()
		n.cancel()
		return there
	}
	gone := s.expire()
	if len(s.byID) >= s.max {
		gone = append(gone, s.evict(n.principal)...)
	}
	ok := len(s.byID) < s.max && !s.closed
	if ok {
		n.active++
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

// acquire returns a session and keeps it from expiring until release.
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

// hold is acquire for a holder of the session.
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

// remove ends a session, and reports whether it existed.
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

// close ends all sessions, and prevents new ones.
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

// expire unregisters sessions that were idle for too long. The caller ends them without the lock.
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

// evict unregisters the session to be replaced by one more of a principal. Calls go on when their client leaves, so a
// principal could otherwise keep all others out with sessions in use.
func (s *sessions) evict(principal string) []*session {
	of := map[string]int{}
	for _, x := range s.byID {
		of[x.principal]++
	}
	var idle, used *session
	for e := s.order.Front(); e != nil; e = e.Next() {
		x := e.Value.(*session)
		more := of[x.principal] > of[principal]
		if x.active == 0 && (more || x.principal == principal) && (idle == nil || of[x.principal] > of[idle.principal]) {
			idle = x
		}
		if more && (used == nil || of[x.principal] > of[used.principal]) {
			used = x
		}
	}
	found := cmp.Or(idle, used)
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
