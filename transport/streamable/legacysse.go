package streamable

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// Endpoints of the transport of 2024-11-05, with Options.LegacySSE: one stream for all server messages, and an
// address for POST, which the first event of the stream names.
const (
	ssePath      = "/sse"
	messagesPath = "/messages"
)

// oldSSE returns the handler of the two endpoints. ok is false if the request is for neither.
func (x *exchange) oldSSE() (serve func() *refusal, ok bool) {
	if !x.h.options.LegacySSE {
		return nil, false
	}
	switch x.r.URL.Path {
	case ssePath:
		return x.sse, true
	case messagesPath:
		return x.message, true
	}
	return nil, false
}

// sse opens a session for the lifetime of the stream, which carries all responses.
func (x *exchange) sse() *refusal {
	if x.r.Method != http.MethodGet {
		return refuse(http.StatusMethodNotAllowed, "method %s is not served here", clip(x.r.Method)).with("Allow", "GET")
	}
	if x.h.settled() {
		return shuttingDown()
	}
	s := x.h.newSession(x.caller, rand.Text(), false)
	if x.h.sessions.add(x.h.ctx, s) == nil {
		s.conn.Close()
		return tooManySessions()
	}
	x.h.sessions.hold(s)
	defer x.h.sessions.remove(s.id, s.principal)
	defer x.h.sessions.release(s)
	x.rc.SetReadDeadline(time.Time{})
	reader := s.standing.open()
	defer reader.close()
	first := "event: endpoint\ndata: " + messagesPath + "?sessionId=" + url.QueryEscape(s.id) + "\n\n"
	c := &carrier{x: x, session: s, reader: reader, until: x.h.quiet.Done(), first: []byte(first)}
	c.carry()
	return nil
}

// message accepts one message. Its response is sent on the session's stream.
func (x *exchange) message() *refusal {
	if x.r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "method %s is not served here", clip(x.r.Method)).with("Allow", "POST")
	}
	if f := checkContentType(x.r.Header); f != nil {
		return f
	}
	if f := x.body.read(x.r, x.rc, x.principal); f != nil {
		return f
	}
	s := x.h.sessions.acquire(x.r.URL.Query().Get("sessionId"), x.principal)
	if s != nil && s.pooled { // it is of the other transport
		x.h.sessions.release(s)
		s = nil
	}
	if s == nil {
		return refuse(http.StatusNotFound, "there is no such session (any more): begin with GET %s", ssePath)
	}
	m, err := jsonrpc.Parse(x.body.data)
	if err != nil {
		x.h.sessions.release(s)
		return malformed(m.ID, err)
	}
	if m.IsRequest() && x.h.settled() {
		x.h.sessions.release(s)
		f := shuttingDown()
		f.id = m.ID
		return f
	}
	if envelope.IsModern(&m) {
		x.h.sessions.release(s)
		return refuse(http.StatusBadRequest, "this endpoint is for clients of older versions: post to %s", x.h.options.Path)
	}
	over := x.outlive()
	take := func() {
		defer x.h.sessions.release(s)
		body := s.conn.Handle(x.within(s), &m, s.standing.send).Body
		if over(); body != nil {
			s.standing.send(body)
		}
	}
	if m.IsRequest() && m.Method != "initialize" {
		go take() // conn.Close waits for it
	} else {
		take() // in order of arrival
	}
	x.w.WriteHeader(http.StatusAccepted)
	return nil
}

// outlive keeps the place and the memory of the request beyond its response, which only accepts it, until over is called.
func (x *exchange) outlive() (over func()) {
	body, placed := x.body, x.placed
	x.body.borrowed, x.placed = 0, false
	return func() {
		body.free()
		if placed {
			x.h.admission.leave(x.principal)
		}
	}
}
