package streamable

import (
	"container/list"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
)

// pendingCall is a request of a session that is being handled, on the goroutine of its HTTP request. Most calls are
// short and send nothing before their result, which that goroutine then writes as JSON. At the first message, or after
// primeAfter, a carrier takes over the response: from then on the call does not depend on its connection.
//
//	call ──▶ result ──────────────────────────────▶ connection     usually
//	call ──▶ messages, result ──▶ stream ──▶ carrier ──▶ connection     after takeOver
type pendingCall struct {
	x        *exchange
	session  *session
	id       []byte // of the request
	begun    time.Time
	place    *list.Element     // in the primer, until it takes the call out
	response protocol.Response // valid once done is closed
	done     chan struct{}     // closed after the call; made by takeOver
	carried  chan struct{}     // closed after the carrier; made by takeOver

	mu     sync.Mutex
	over   bool
	stream *eventStream // of the carrier; nil before takeOver
}

// answerSession passes a request of a session to its conn, and writes the response: as JSON, or as a stream if
// messages precede it or if it takes long. The call continues if the client disconnects.
func (x *exchange) answerSession(s *session, id []byte, handle func(send func([]byte)) protocol.Response) *refusal {
	if !s.begin() {
		return noSession()
	}
	p := &pendingCall{x: x, session: s, id: id, begun: time.Now()}
	x.h.primer.add(p)
	defer p.finish()
	p.response = handle(p.send)
	return nil
}

// send sends a message that precedes the result. A nil message ends the connection, if the client can return for the
// rest.
func (p *pendingCall) send(msg []byte) {
	switch stream := p.takeOver(false); {
	case stream == nil: // the call is over
	case msg == nil:
		stream.release()
	default:
		stream.send(msg)
	}
}

// takeOver starts the carrier, once, and returns its stream. prime begins the stream at once, without a message.
func (p *pendingCall) takeOver(prime bool) *eventStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil && !p.over {
		p.stream = p.session.box.answer(p.id)
		p.done, p.carried = make(chan struct{}), make(chan struct{})
		c := &carrier{x: p.x, session: p.session, reader: p.stream.open(), call: p}
		go p.carry(c, prime) // finish waits for it
	}
	return p.stream
}

// carry writes the response of the stream. If the connection ends before the call, it is given back.
func (p *pendingCall) carry(c *carrier, prime bool) {
	defer close(p.carried)
	begun := prime && c.carry() || !prime && c.answer()
	c.reader.close()
	if !begun {
		p.stream.forget() // the client cannot resume it
	}
	select {
	case <-p.done:
	default:
		p.x.detach(begun && !c.broken)
	}
}

// finish writes the response after the call, or waits for the carrier to do so.
func (p *pendingCall) finish() {
	p.x.h.primer.remove(p)
	p.mu.Lock()
	p.over = true
	stream := p.stream
	p.mu.Unlock()
	if stream == nil {
		p.session.calls.Done()
		p.write()
		return
	}
	close(p.done)
	stream.end(p.response.Body)
	p.session.calls.Done()
	<-p.carried
}

// write writes the response as JSON.
func (p *pendingCall) write() {
	p.x.extend()
	p.x.writeResponse(&p.response)
}
