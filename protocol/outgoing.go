package protocol

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxAsked is how many requests to the client may wait for their answers on one Conn: a person reads
// one after the other, and each has a running plugin behind it.
const MaxAsked = 64

// outgoing is a request to a legacy client.
type outgoing struct {
	id     json.RawMessage
	answer chan *jsonrpc.Message // room for one
}

// request sends a request to the client, on the stream of r. The caller forgets it.
func (c *Conn) request(r *request, method string, params json.RawMessage) (*outgoing, error) {
	c.mu.Lock()
	if len(c.outgoing) >= MaxAsked {
		c.mu.Unlock()
		return nil, &runtime.AskError{Kind: runtime.KindLimit, Message: "too many questions wait for the client"}
	}
	c.asked++
	w := &outgoing{id: strconv.AppendUint(nil, c.asked, 10), answer: make(chan *jsonrpc.Message, 1)}
	if c.outgoing == nil {
		c.outgoing = map[string]*outgoing{}
	}
	c.outgoing[string(w.id)] = w
	c.mu.Unlock()
	m := jsonrpc.Message{ID: w.id, Method: method, Params: params}
	r.stream.Tell(rawjson.OneLine(m.Append(nil)))
	return w, nil
}

// forgetRequest ends the wait for an answer. One that comes later is ignored.
func (c *Conn) forgetRequest(w *outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.outgoing, string(w.id))
}

// answered takes in a client's answer to a request of ours. What nobody waits for is ignored.
func (c *Conn) answered(m *jsonrpc.Message) {
	c.mu.Lock()
	w := c.outgoing[string(m.ID)]
	delete(c.outgoing, string(m.ID))
	c.mu.Unlock()
	if w != nil {
		w.answer <- ownCopy(m) // the transport's buffer is used again
	}
}

// Waiting returns how many questions wait for the client's answers. Whoever bounds the calls that run at
// once must go on reading while this many of them wait for what it reads.
func (c *Conn) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.outgoing)
}

// ownCopy is a response that shares no memory with what it was read from.
func ownCopy(m *jsonrpc.Message) *jsonrpc.Message {
	own := &jsonrpc.Message{Result: slices.Clone(m.Result)}
	if m.Error != nil {
		e := *m.Error
		e.Data = nil
		own.Error = &e
	}
	return own
}
