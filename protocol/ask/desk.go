package ask

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxSent is how many requests to one client may wait for their answers: a person reads one after the
// other, and each has a running plugin behind it.
const maxSent = 64

// Desk has the requests that a legacy client was sent, until it answers. The zero value is empty. It is safe for
// concurrent use.
type Desk struct {
	// Notify tells the client something that belongs to no request of its own; nil is that there is no way to.
	Notify func(msg []byte)

	mu    sync.Mutex
	sent  map[string]*Sent // by id
	count uint64           // how many there were
}

// Sent is a request to a client.
type Sent struct {
	desk   *Desk
	id     json.RawMessage
	tell   func(messages ...[]byte)
	answer chan *jsonrpc.Message // room for one
}

// Send sends a request by tell. The caller waits for its answer.
func (d *Desk) Send(method string, params json.RawMessage, tell func(messages ...[]byte)) (*Sent, error) {
	s, err := d.add(tell)
	if err != nil {
		return nil, err
	}
	m := jsonrpc.Message{ID: s.id, Method: method, Params: params}
	tell(rawjson.OneLine(m.Append(nil)))
	return s, nil
}

func (d *Desk) add(tell func(messages ...[]byte)) (*Sent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sent) >= maxSent {
		return nil, &runtime.AskError{Kind: runtime.KindLimit, Message: "too many questions wait for the client"}
	}
	d.count++
	s := &Sent{desk: d, id: strconv.AppendUint(nil, d.count, 10), tell: tell, answer: make(chan *jsonrpc.Message, 1)}
	if d.sent == nil {
		d.sent = map[string]*Sent{}
	}
	d.sent[string(s.id)] = s
	return s, nil
}

// Answered takes in a client's answer. What nobody waits for is ignored.
func (d *Desk) Answered(m *jsonrpc.Message) {
	d.mu.Lock()
	s := d.sent[string(m.ID)]
	delete(d.sent, string(m.ID))
	d.mu.Unlock()
	if s != nil {
		s.answer <- ownCopy(m) // the transport's buffer is used again
	}
}

// Waiting returns how many requests wait for the client's answers.
func (d *Desk) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sent)
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

// Wait waits for the answer, which is ignored if it comes later. The client is told that nobody waits any more: its time
// is over, for the cause runtime.ErrUnanswered, or the call has ended.
func (s *Sent) Wait(ctx context.Context) runtime.Answer {
	defer s.forget()
	select {
	case m := <-s.answer:
		if m.Error != nil {
			return runtime.Answer{Err: clientError(m.Error)}
		}
		return runtime.Answer{Result: m.Result}
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), runtime.ErrUnanswered) {
		s.withdraw("the time is over")
		return runtime.Answer{Err: &runtime.AskError{Kind: runtime.KindTimeout, Message: "the client did not answer in time"}}
	}
	if s.forget() {
		s.recall()
	}
	return runtime.Answer{Err: &runtime.AskError{Kind: runtime.KindUnavailable, Message: "the call is over"}}
}

// Drop gives a request up that nobody waits for, and tells the client unless it has answered. It may be called again,
// and after Wait.
func (s *Sent) Drop() {
	if s.forget() {
		s.withdraw("the time is over")
	}
}

// forget reports whether the request was without an answer.
func (s *Sent) forget() (open bool) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	_, open = s.desk.sent[string(s.id)]
	delete(s.desk.sent, string(s.id))
	return open
}

// withdraw tells the client that its answer is not waited for any more.
func (s *Sent) withdraw(why string) { s.tell(s.cancelled(why)) }

// recall does so for a call that is over, for which nothing is said any more.
func (s *Sent) recall() {
	if s.desk.Notify != nil {
		s.desk.Notify(s.cancelled("the call is over"))
	}
}

func (s *Sent) cancelled(why string) []byte {
	return jsonrpc.Notification("notifications/cancelled", rawjson.Object{
		{Key: "requestId", Value: s.id}, {Key: "reason", Value: rawjson.AppendString(nil, why)}})
}

// codeUserRejected is what clients answer when their user does not let a model be asked.
const codeUserRejected = -1

// clientError is what a client's error means to a plugin.
func clientError(e *jsonrpc.Error) *runtime.AskError {
	kind := runtime.KindUnavailable
	switch e.Code {
	case codeUserRejected:
		kind = runtime.KindDenied
	case jsonrpc.CodeMethodNotFound:
		kind = runtime.KindUnsupported
	case jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidRequest:
		kind = runtime.KindInvalid
	}
	return &runtime.AskError{Kind: kind, Message: "the client says: " + jsonrpc.Clip(e.Message)}
}
