package streamable

import (
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
)

// primeAfter is the time after which the response to a session's call becomes a stream even without messages: from
// then on a client that loses the connection can resume.
const primeAfter = time.Second

// carrier writes the events of one stream of a session to one connection.
type carrier struct {
	x        *exchange
	session  *session
	reader   *eventReader
	until    <-chan struct{}   // ends the connection, besides the client and the session; may be nil
	first    []byte            // beginning of the response
	response protocol.Response // response of a call, valid once done is closed
	done     chan struct{}
	buf      []byte
}

// primes reports whether clients of a session support events without data.
func (s *session) primes() bool { return s.version >= "2025-11-25" }

// answerSession passes a request of a session to its conn, and writes the response: as JSON, or as a stream if
// messages precede it or if it takes long. The call continues if the client disconnects.
func (x *exchange) answerSession(s *session, handle func(send func([]byte)) protocol.Response) *refusal {
	if !s.begin() {
		return noSession()
	}
	stream := s.box.stream()
	c := &carrier{x: x, session: s, reader: stream.open(), done: make(chan struct{})}
	x.h.sessions.hold(s)
	go func() { // session.end waits for it
		defer x.h.sessions.release(s)
		defer s.calls.Done()
		c.response = handle(func(msg []byte) {
			if msg == nil {
				stream.release()
			} else {
				stream.send(msg)
			}
		})
		close(c.done)
		stream.end(c.response.Body)
	}()
	defer c.reader.close()
	if !c.answer() {
		stream.forget() // the client cannot resume it
	}
	return nil
}

// answer writes the response of a call. It returns false if the client has no event to resume from.
func (c *carrier) answer() bool {
	prime := time.NewTimer(primeAfter)
	defer prime.Stop()
	for {
		select {
		case <-c.reader.news():
			if _, ok := c.reader.only(); ok {
				<-c.done // an ending session closes its streams after its calls
				c.x.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
				writeResponse(c.x.w, &c.response)
				return false
			}
			if c.reader.waiting() {
				return c.carry()
			}
		case <-prime.C:
			if c.session.primes() {
				return c.carry()
			}
		case <-c.x.r.Context().Done():
			return false
		}
	}
}

// carry turns the response into an event stream and writes events until the stream or the connection ends.
func (c *carrier) carry() bool {
	beginEvents(c.x.w)
	if c.buf = append(c.buf, c.first...); c.session.primes() {
		c.buf = appendPriming(c.buf, c.reader.position())
	}
	beat := time.NewTicker(c.x.h.keepAlive)
	defer beat.Stop()
	for c.next() {
		select {
		case <-c.reader.news():
		case <-beat.C:
			c.buf = append(c.buf, comment...)
		case <-c.session.ctx.Done(): // the outbox closes next, and then the rest is available
			<-c.reader.news()
		case <-c.until:
			return true
		case <-c.x.r.Context().Done():
			return true
		}
	}
	return true
}

// next writes the available events, and reports whether more may follow.
func (c *carrier) next() bool {
	events, state := c.reader.next()
	for _, e := range events {
		c.buf = appendEvent(c.buf, e.id, e.data)
	}
	c.x.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.x.w.Write(c.buf)
	if err == nil {
		err = c.x.rc.Flush()
	}
	c.buf = c.buf[:0]
	return err == nil && (state == streamOpen || state == streamReleased && !c.session.primes())
}
