package streamable

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxRecord bounds the state of a session in the store, in bytes: some thousand subscriptions.
	maxRecord = 256 << 10
	// renewals is the number of times that an expiry is renewed during the idle time of a session.
	renewals = 8
)

// pool are the sessions that several hosts serve: their records in a store. A host that gets a request of a session reads its
// record first, so that the request sees each change that was acknowledged before. What a session does meanwhile, its calls
// and streams, is in a session of this process, which follows the record.
type pool struct {
	store *store.Store
	idle  time.Duration
	log   *slog.Logger
	self  string // names this process, in the store and in IDs of events and requests

	notices *notices
	boxes   atomic.Uint64 // sessions served by this process
	saving  sync.WaitGroup
	ctx     context.Context // ends when the handler is closed

	mu   sync.Mutex
	held bool // the name is in the store
}

func newPool(ctx context.Context, o *Options) *pool {
	if o.Store == nil {
		return nil
	}
	return &pool{store: o.Store, idle: sessionIdle, log: o.Logger, self: rand.Text()[:nameSize], notices: newNotices(), ctx: ctx}
}

// hold makes the name of this process known, before the first session is served.
func (p *pool) hold() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		return nil
	}
	err := p.store.Hold(p.self)
	p.held = err == nil
	return err
}

// record is a session in the store.
type record struct {
	// Seq grows with each change.
	Seq uint64 `json:"seq"`
	// Plugins is protocol.ConnOptions.Session.
	Plugins string                `json:"plugins"`
	State   protocol.SessionState `json:"state"`
	// Standing is the last connection for messages that belong to no request.
	Standing standing `json:"standing,omitzero"`
}

// standing is such a connection. A client has one among all hosts: each new one replaces the one before.
type standing struct {
	Process string `json:"process"`
	// Resumed and After name the event that the client had got, if it resumed the stream of another process.
	Resumed string `json:"resumed,omitempty"`
	After   uint64 `json:"after,omitempty"`
}

var (
	errOver  = errors.New("the session has ended")
	errState = &runtime.EndError{Kind: runtime.KindLimit, Message: "the session is too large: it has too many or too long subscriptions"}
)

func (r *record) encode() ([]byte, error) {
	raw, err := json.Marshal(r)
	if err == nil && len(raw) > maxRecord {
		err = errState
	}
	return raw, err
}

// sessionIDs are those of this server. Others are not looked up.
var sessionIDs = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// add stores a session that begins.
func (p *pool) add(ctx context.Context, s *session) error {
	if err := p.hold(); err != nil {
		return err
	}
	r := record{Seq: 1, Plugins: s.plugins, State: s.conn.State()}
	raw, err := r.encode()
	if err == nil {
		_, err = p.store.Add(ctx, store.Session, store.Record{ID: s.id, Principal: s.principal, Data: raw, Expires: time.Now().Add(p.idle)})
	}
	if err == nil {
		s.adopt(&r)
	}
	return err
}

// read returns the record of a session of a principal, and whether it is to be renewed. The error is store.ErrNotFound if
// there is none.
func (p *pool) read(ctx context.Context, id, principal string) (r *record, renew bool, err error) {
	kept, err := p.store.Get(ctx, store.Session, id)
	if err != nil {
		return nil, false, err
	}
	if kept.Principal != principal {
		return nil, false, store.ErrNotFound
	}
	r = &record{}
	return r, time.Until(kept.Expires) < p.idle-p.idle/renewals, json.Unmarshal(kept.Data, r)
}

// change changes the record of a session. The error is errOver if it has ended.
func (p *pool) change(ctx context.Context, s *session, f func(*record) error) error {
	var next record
	at := []store.Record{{ID: s.id, Expires: time.Now().Add(p.idle)}}
	err := p.store.Change(ctx, store.Session, s.principal, at, func(data [][]byte) ([][]byte, error) {
		if data[0] == nil {
			return nil, errOver
		}
		next = record{}
		if err := json.Unmarshal(data[0], &next); err != nil {
			return nil, err
		}
		if err := f(&next); err != nil {
			return nil, err
		}
		next.Seq++
		raw, err := next.encode()
		return [][]byte{raw}, err
	})
	if err == nil {
		s.adopt(&next)
	}
	return err
}

// renew keeps a session that is used. Its failure matters only if it lasts, and the next request tries again.
func (p *pool) renew(ctx context.Context, s *session) {
	err := p.change(ctx, s, func(r *record) error {
		r.Seq-- // nothing is changed
		return nil
	})
	if err != nil && !errors.Is(err, errOver) {
		p.log.Warn("the expiry of a session is not renewed", "error", err)
	}
}

// remove ends a session.
func (p *pool) remove(ctx context.Context, id string) error {
	if err := p.store.Remove(ctx, store.Session, id); err != nil {
		return err
	}
	return errors.Join(p.store.RemoveBelow(ctx, store.Event, id), p.store.RemoveBelow(ctx, store.Mail, id))
}

// sharing returns protocol.ConnOptions.Share of a session.
func (p *pool) sharing(s *session) func(context.Context, func(*protocol.SessionState) error) error {
	return func(ctx context.Context, f func(*protocol.SessionState) error) error {
		if s.id == "" { // not begun
			state := s.conn.State()
			if err := f(&state); err != nil {
				return err
			}
			s.conn.Adopt(state)
			return nil
		}
		err := p.change(ctx, s, func(r *record) error { return f(&r.State) })
		if errors.Is(err, errOver) || errors.Is(err, store.ErrUnavailable) {
			err = &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the session cannot be changed: " + err.Error(), Err: err}
		}
		return err
	}
}

// away refuses a request of a session whose record cannot be read or written. Nothing of it was done.
func (p *pool) away(err error) *refusal {
	if !errors.Is(err, store.ErrUnavailable) {
		p.log.Error("the sessions cannot be read or stored", "error", err)
	}
	return refuse(http.StatusServiceUnavailable, "the sessions of this server cannot be reached at present").with("Retry-After", "1")
}

// find returns the session of a request, by its record if there is a pool. The caller must release it.
func (h *Handler) find(ctx context.Context, id string, c caller) (*session, *refusal) {
	s := h.sessions.acquire(id, c.principal)
	if h.pool == nil || s != nil && !s.pooled {
		if s == nil {
			return nil, noSession()
		}
		return s, nil
	}
	if !sessionIDs.MatchString(id) {
		return nil, noSession()
	}
	r, renew, err := h.pool.read(ctx, id, c.principal)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if s != nil {
			h.sessions.release(s)
			h.sessions.remove(id, c.principal)
		}
		return nil, noSession()
	case errors.Is(err, store.ErrUnavailable) && s != nil: // no host can have changed it
		return s, nil
	case err != nil:
		if s != nil {
			h.sessions.release(s)
		}
		return nil, h.pool.away(err)
	case s == nil:
		var f *refusal
		if s, f = h.join(id, r, c); f != nil {
			return nil, f
		}
	}
	if s.adopt(r); renew {
		h.pool.renew(ctx, s)
	}
	return s, nil
}

// join serves a session that another host has begun.
func (h *Handler) join(id string, r *record, c caller) (*session, *refusal) {
	if err := h.pool.hold(); err != nil {
		return nil, h.pool.away(err)
	}
	s := h.newSession(c, r.Plugins, true)
	s.id, s.version = id, r.State.Version
	joined := h.sessions.join(h.ctx, s)
	if joined != s {
		s.conn.Close()
	}
	if joined == nil {
		return nil, tooManySessions()
	}
	return joined, nil
}

// adopt follows a record of the session, unless it is older than the one before.
func (s *session) adopt(r *record) {
	s.following.Lock()
	defer s.following.Unlock()
	if r.Seq > s.seq {
		s.seq = r.Seq
		s.conn.Adopt(r.State)
		s.yield(&r.Standing)
	}
}

// yield leaves the messages that belong to no request to the process with the last connection for them.
func (s *session) yield(at *standing) {
	if s.mail == nil || at.Process == "" || at.Process == s.mail.pool.self {
		return
	}
	for _, msg := range s.standing.displace(at.Resumed == s.standing.name(), at.After) {
		s.mail.put(s.letter(toClient, msg))
	}
}

// stand makes this process the one with the connection for messages that belong to no request. If that is not stored, the
// messages of other processes reach the client once it is.
func (p *pool) stand(ctx context.Context, s *session, resumed string, after uint64) {
	err := p.change(ctx, s, func(r *record) error {
		r.Standing = standing{Process: p.self, Resumed: resumed, After: after}
		return nil
	})
	if err != nil && !errors.Is(err, errOver) {
		p.log.Warn("other hosts do not know of the stream of a session", "error", err)
	}
}
