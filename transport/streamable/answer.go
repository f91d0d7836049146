package streamable

import (
	"net/http"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
)

// answer is the response to one request: a JSON object, or an event stream from the first send on.
type answer struct {
	w         http.ResponseWriter
	rc        *http.ResponseController
	keepAlive time.Duration

	mu        sync.Mutex
	streaming bool
	closed    bool // no more writes are permitted
	beat      *time.Timer
	buf       []byte
}

func newAnswer(x *exchange) *answer {
	return &answer{w: x.w, rc: x.rc, keepAlive: x.h.keepAlive}
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
	a.extend()
	switch {
	case a.streaming:
		a.beat.Stop()
		if r.Body != nil {
			a.event(r.Body)
		}
	default:
		writeResponse(a.w, r)
	}
}

// writeResponse writes the response to a request as JSON. A notification has none.
func writeResponse(w http.ResponseWriter, r *protocol.Response) {
	if r.Body == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if r.Busy > 0 {
		w.Header().Set("Retry-After", seconds(r.Busy))
	}
	writeJSON(w, status(r), r.Body)
}

// abandon prevents further writes: the response belongs to the HTTP server again.
func (a *answer) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// begin turns the response into an event stream.
func (a *answer) begin() {
	a.extend()
	beginEvents(a.w)
	a.streaming = true
	a.beat = time.AfterFunc(a.keepAlive, a.comment)
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
	a.extend()
	_, err := a.w.Write(p)
	if err == nil {
		err = a.rc.Flush()
	}
	if err != nil {
		a.closed = true
		return
	}
	if !a.closed {
		a.beat.Reset(a.keepAlive)
	}
}

// extend renews the write deadline for one more write.
func (a *answer) extend() { a.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) }
