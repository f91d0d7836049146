package streamable

import (
	"net/http"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
)

// answer is the response to one request: a JSON object, or an event stream from the first send on.
type answer struct {
	x *exchange

	mu        sync.Mutex
	streaming bool
	closed    bool // no more writes are permitted
	beat      *time.Timer
	buf       []byte
}

func newAnswer(x *exchange) *answer {
	return &answer{x: x}
}

// send writes a message that precedes the result.
func (a *answer) send(msg []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || msg == nil {
		return
	}
	if !a.streaming {
		a.begin()
	}
	a.event(msg)
}

// finish writes the result, if any, and ends the response. Later writes have no effect.
func (a *answer) finish(r *protocol.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	a.x.extend()
	switch {
	case a.streaming:
		a.beat.Stop()
		if r.Body != nil {
			a.event(r.Body)
		}
	default:
		a.x.writeResponse(r)
	}
}

// writeResponse writes the response to a request as JSON. A notification has none.
func (x *exchange) writeResponse(r *protocol.Response) {
	if r.Body == nil {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	code := status(r)
	if r.Busy > 0 {
		x.w.Header().Set("Retry-After", seconds(r.Busy))
	}
	if challenge := x.h.authenticator.challenge(x.identity.Scopes, r); challenge != "" {
		x.w.Header().Set("WWW-Authenticate", challenge)
		code = http.StatusForbidden
	}
	writeJSON(x.w, code, r.Body)
}

// abandon prevents further writes: the response belongs to the HTTP server again.
func (a *answer) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// begin turns the response into an event stream.
func (a *answer) begin() {
	a.x.extend()
	beginEvents(a.x.w)
	a.streaming = true
	a.beat = time.AfterFunc(a.x.h.keepAlive, a.comment)
}

// comment keeps an idle stream open.
func (a *answer) comment() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.flush(comment)
	}
}

// event writes one server-sent event. The lock is held.
func (a *answer) event(msg []byte) {
	a.buf = appendEvent(a.buf[:0], "", msg)
	a.flush(a.buf)
}

// flush writes p. After an error the client is gone. Its request is handled elsewhere.
func (a *answer) flush(p []byte) {
	a.x.extend()
	_, err := a.x.w.Write(p)
	if err == nil {
		err = a.x.rc.Flush()
	}
	if err != nil {
		a.closed = true
		return
	}
	if !a.closed {
		a.beat.Reset(a.x.h.keepAlive)
	}
}
