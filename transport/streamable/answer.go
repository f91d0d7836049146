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
	closed    bool // nothing may be written any more
	beat      *time.Timer
	buf       []byte
}

func newAnswer(x *exchange) *answer {
	return &answer{w: x.w, rc: x.rc, keepAlive: x.h.keepAlive}
}

// send writes a message that comes before the result.
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

// finish writes the result, or ends the response without one if there is none. Nothing is written after it.
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

// writeResponse writes the one message that a request is answered with; a notification has none.
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

// abandon lets nothing be written any more: the response belongs to the HTTP server again.
func (a *answer) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// begin makes the response an event stream.
func (a *answer) begin() {
	a.extend()
	beginEvents(a.w)
	a.streaming = true
	a.beat = time.AfterFunc(a.keepAlive, a.comment)
}

// comment keeps a silent stream open.
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

// flush writes p out. After an error the client is gone; what becomes of its request is decided
// elsewhere.
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

// extend gives the client time for one more write.
func (a *answer) extend() { a.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) }
