package streamable

import (
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/transport/outbox"
)

// primeAfter is how long a call of a session runs before its response becomes a stream, whatever it has
// to say: from then on a client that loses the connection can come back for the answer.
const primeAfter = time.Second

// carrier brings the events of one stream of a session to one connection.
type carrier struct {
	x        *exchange
	session  *session
	reader   *outbox.Reader
	until    <-chan struct{}   // ends the connection, beside the client and the session; nil: nothing
	first    []byte            // what the response begins with
	response protocol.Response // of a call, once done is closed
	done     chan struct{}
	buf      []byte
}

// primes reports whether clients of a session know events without data.
func (s *session) primes() bool { return s.version >= "2025-11-25" }

// answerSession hands a request of a session to its conn, and brings the answer: as JSON, or as a stream
// if something comes before it or if it takes long. When the client goes away the call goes on.
func (x *exchange) answerSession(s *session, handle func(send func([]byte)) protocol.Response) *refusal {
	if !s.begin() {
		return noSession()
	}
	stream := s.box.Stream()
	c := &carrier{x: x, session: s, reader: stream.Attach(), done: make(chan struct{})}
	x.h.sessions.hold(s)
	go func() { // which session.end waits for
		defer x.h.sessions.release(s)
		defer s.calls.Done()
		c.response = handle(func(msg []byte) {
			if msg == nil {
				stream.Release()
			} else {
				stream.Send(msg)
			}
		})
		close(c.done)
		stream.End(c.response.Body)
	}()
	defer c.reader.Close()
	if !c.answer() {
		stream.Forget() // nobody can come back for it
	}
	return nil
}

// answer brings the answer of a call. It is false if the client has no place in the stream.
func (c *carrier) answer() bool {
	prime := time.NewTimer(primeAfter)
	defer prime.Stop()
	for {
		select {
		case <-c.reader.News():
			if _, ok := c.reader.Only(); ok {
				<-c.done // a session that ends closes its streams when its calls are over
				c.x.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
				writeResponse(c.x.w, &c.response)
				return false
			}
			if c.reader.Waiting() {
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

// carry makes the response an event stream and writes events until there will be no more of them, or
// nobody who reads them here.
func (c *carrier) carry() bool {
	beginEvents(c.x.w)
	if c.buf = append(c.buf, c.first...); c.session.primes() {
		c.buf = appendPriming(c.buf, c.reader.Position())
	}
	beat := time.NewTicker(c.x.h.keepAlive)
	defer beat.Stop()
	for c.next() {
		select {
		case <-c.reader.News():
		case <-beat.C:
			c.buf = append(c.buf, comment...)
		case <-c.session.ctx.Done(): // the outbox is closed next: the rest is there then
			<-c.reader.News()
		case <-c.until:
			return true
		case <-c.x.r.Context().Done():
			return true
		}
	}
	return true
}

// next writes what has come, and reports whether more may.
func (c *carrier) next() bool {
	events, state := c.reader.Next()
	for _, e := range events {
		c.buf = appendEvent(c.buf, e.ID, e.Data)
	}
	c.x.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.x.w.Write(c.buf)
	if err == nil {
		err = c.x.rc.Flush()
	}
	c.buf = c.buf[:0]
	return err == nil && (state == outbox.Open || state == outbox.Released && !c.session.primes())
}
