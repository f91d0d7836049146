package streamable

import (
	"io"
	"time"
)

// carrier writes the events of one stream of a session to one connection.
type carrier struct {
	x       *exchange
	session *session
	reader  *eventReader
	until   <-chan struct{} // ends the connection, besides the client and the session; may be nil
	first   []byte          // beginning of the response
	call    *pendingCall    // whose response the stream ends with; nil for the stream of a GET
	buf     []byte
	broken  bool // a write failed, maybe within an event
}

// primes reports whether clients of a session support events without data.
func (s *session) primes() bool { return s.version >= "2025-11-25" }

// answer writes the response of a call: as JSON, or as a stream if messages precede it. It returns false if the client
// has no event to resume from.
func (c *carrier) answer() bool {
	for {
		select {
		case <-c.reader.news():
			if _, ok := c.reader.only(); ok {
				<-c.call.done // an ending session closes its streams after its calls
				c.call.write()
				return false
			}
			if c.reader.waiting() {
				return c.carry()
			}
		case <-c.x.r.Context().Done():
			return false
		}
	}
}

// carry turns the response into an event stream and writes events until the stream or the connection ends.
func (c *carrier) carry() bool {
	c.session.box.saver.wait(c.x.r.Context()) // from the first event on, any host can resume the stream
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
	c.x.extend()
	events, state := c.reader.next(c.x.cut)
	if state == streamReplaced {
		return false
	}
	for _, e := range events {
		c.buf = appendEvent(c.buf, e.id, e.data)
	}
	_, err := c.x.w.Write(c.buf)
	if err == nil {
		err = c.x.rc.Flush()
	}
	c.buf = c.buf[:0]
	c.reader.wrote(err)
	if c.broken = err != nil; c.broken {
		return false
	}
	return state == streamOpen || state == streamReleased && !c.releases()
}

// releases reports whether the response can end before its call, and the client resume it.
func (c *carrier) releases() bool {
	return c.session.primes() && (c.call == nil || c.x.r.ProtoMajor == 1)
}

// extend renews the write deadline for one more write.
func (x *exchange) extend() { x.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// cut fails the write that is under way.
func (x *exchange) cut() { x.rc.SetWriteDeadline(time.Unix(1, 0)) }

// detach ends the response although its request is still being handled: it takes the connection from the HTTP server,
// writes the end of the body, if that has begun and was not cut, and closes it. In HTTP/2, where that is not possible, the
// response ends with its request.
func (x *exchange) detach(ends bool) {
	conn, _, err := x.rc.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	x.leave()
	if ends && x.r.ProtoAtLeast(1, 1) {
		conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		io.WriteString(conn, lastChunk)
	}
}

// lastChunk ends a body of unknown length in HTTP/1.1.
const lastChunk = "0\r\n\r\n"
