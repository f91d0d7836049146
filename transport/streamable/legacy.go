package streamable

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

const sessionHeader = "Mcp-Session-Id"

func (x *exchange) serveLegacy(m *jsonrpc.Message) *refusal {
	f := x.legacy(m)
	if f != nil {
		f.id = m.ID
	}
	return f
}

func (x *exchange) legacy(m *jsonrpc.Message) *refusal {
	if f := x.h.versions.checkLegacy(x.r.Header); f != nil {
		return f
	}
	if m.IsRequest() && m.Method == "initialize" {
		return x.initialize(m)
	}
	s, f := x.session()
	if f != nil {
		return f
	}
	defer x.h.sessions.release(s)
	handle := func(send func([]byte)) protocol.Response {
		return x.complete(m, s.conn.Handle(x.within(s), m, send), s)
	}
	if m.IsRequest() {
		return x.answerSession(s, m.ID, handle)
	}
	response := handle(func([]byte) {})
	if f := x.passOn(s, &response); f != nil {
		return f
	}
	x.answer(func(func([]byte)) protocol.Response { return response })
	return nil
}

// initialize begins a session, if the server accepts it.
func (x *exchange) initialize(m *jsonrpc.Message) *refusal {
	s := x.h.newSession(x.caller, rand.Text(), x.h.pool != nil)
	c := s.conn
	response := c.Handle(x.h.ctx, m, func([]byte) {})
	if response.Initialized == "" {
		c.Close()
		x.answer(func(func([]byte)) protocol.Response { return response })
		return nil
	}
	s.version = response.Initialized
	if s = x.h.sessions.add(x.h.ctx, s); s == nil {
		c.Close()
		return tooManySessions()
	}
	if s.pooled {
		if err := x.h.pool.add(x.r.Context(), s); err != nil {
			x.h.sessions.remove(s.id, s.principal)
			return x.h.pool.away(err)
		}
	}
	x.w.Header().Set(sessionHeader, s.id)
	x.answer(func(func([]byte)) protocol.Response { return response })
	return nil
}

func tooManySessions() *refusal {
	return refuse(http.StatusServiceUnavailable, "too many sessions").with("Retry-After", "60")
}

// newSession returns a session that is not registered yet. plugins names it to plugins that keep state for it.
func (h *Handler) newSession(c caller, plugins string, pooled bool) *session {
	s := &session{principal: c.principal, plugins: plugins, pooled: pooled}
	if pooled {
		s.box = newOutbox(h.pool.boxName(), &saver{pool: h.pool, session: s, kind: store.Event})
	} else {
		s.box = newOutbox("", nil)
	}
	s.standing = s.box.stream()
	o := protocol.ConnOptions{Principal: c.principal, Roles: c.identity.Roles(), Proof: c.proof, Session: plugins, Notify: s.standing.send, Heard: s.standing.attached}
	if pooled {
		s.mail = &saver{pool: h.pool, session: s, kind: store.Mail}
		o.Process, o.Share, o.Notify, o.Announce = h.pool.self, h.pool.sharing(s), s.notify, s.standing.send
	}
	s.conn = h.server.connect(o)
	return s
}

// within returns the context of a request in a session. The roles are those of its own token: a session outlives the
// token that began it.
func (x *exchange) within(s *session) context.Context {
	return identity.WithRoles(s.ctx, x.identity.Roles())
}

// sessionID returns the single session ID of a request.
func sessionID(h http.Header) (string, *refusal) {
	switch values := h.Values(sessionHeader); {
	case len(values) > 1:
		return "", refuse(http.StatusBadRequest, "more than one Mcp-Session-Id header")
	case len(values) == 0 || values[0] == "":
		return "", refuse(http.StatusBadRequest, "the Mcp-Session-Id header is missing: a session begins with initialize")
	default:
		return values[0], nil
	}
}

// session finds the session of this request. The caller must release it.
func (x *exchange) session() (*session, *refusal) {
	id, f := sessionID(x.r.Header)
	if f != nil {
		return nil, f
	}
	return x.h.find(x.r.Context(), id, x.caller)
}

func noSession() *refusal {
	return refuse(http.StatusNotFound, "there is no such session (any more): begin with initialize")
}

// get opens a stream of a session: the rest of the one that Last-Event-ID names, or else the one for messages that
// belong to no request. Without a session there is no stream.
func (x *exchange) get() *refusal {
	if x.r.Header.Get(versionHeader) >= firstModern || x.r.Header.Get(sessionHeader) == "" {
		return notAllowed(x.r)
	}
	if f := x.h.versions.checkLegacy(x.r.Header); f != nil {
		return f
	}
	if values := x.r.Header.Values("Accept"); len(values) > 0 && !accepts(strings.Join(values, ","), "text/event-stream") {
		return refuse(http.StatusNotAcceptable, "Accept must allow text/event-stream")
	}
	s, f := x.session()
	if f != nil {
		return f
	}
	defer x.h.sessions.release(s)
	reader, stop, f := x.reader(s, x.r.Header.Get("Last-Event-ID"))
	if f != nil {
		return f
	}
	defer stop()
	defer reader.close()
	if reader.of(s.standing) {
		if x.h.settled() {
			return shuttingDown()
		}
		x.h.collect(s)
	}
	x.rc.SetReadDeadline(time.Time{})
	c := &carrier{x: x, session: s, reader: reader}
	if reader.of(s.standing) {
		c.until = x.h.quiet.Done()
	}
	c.carry()
	return nil
}

// delete ends a session. The modern revision has none.
func (x *exchange) delete() *refusal {
	if x.r.Header.Get(versionHeader) >= firstModern {
		return notAllowed(x.r)
	}
	if f := x.h.versions.checkLegacy(x.r.Header); f != nil {
		return f
	}
	id, f := sessionID(x.r.Header)
	if f != nil {
		return f
	}
	s, f := x.h.find(x.r.Context(), id, x.caller)
	if f != nil {
		return f
	}
	x.h.sessions.release(s)
	if s.pooled {
		if err := x.h.pool.remove(x.r.Context(), id); err != nil {
			return x.h.pool.away(err)
		}
	}
	x.h.sessions.remove(id, x.principal)
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// batch serves an array of messages, which only one old revision has.
func (x *exchange) batch() *refusal {
	if f := x.h.versions.checkLegacy(x.r.Header); f != nil {
		return f
	}
	if x.h.settled() {
		return shuttingDown()
	}
	if x.r.Header.Get(versionHeader) >= firstModern || x.r.Header.Get(sessionHeader) == "" {
		return refuse(http.StatusBadRequest, "a batch needs a session of protocol version 2025-03-26")
	}
	s, f := x.session()
	if f != nil {
		return f
	}
	defer x.h.sessions.release(s)
	a := newAnswer(x)
	defer a.abandon()
	response := s.conn.HandleBatch(x.within(s), x.body.data, a.send)
	if f := x.passOn(s, &response); f != nil {
		if response.Body == nil {
			return f
		}
		for _, raw := range response.Unclaimed { // the requests were done: the client does not repeat the batch
			s.mail.put(s.letter("", raw))
		}
	}
	if response.Err != nil { // for the batch as a whole
		f := refuse(http.StatusBadRequest, "")
		f.err, f.null = response.Err, true
		return f
	}
	a.finish(&response)
	return nil
}
