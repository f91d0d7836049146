package inputrequest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxSent is the maximum number of unanswered requests per client. A person answers them one by one, and each has a
// running plugin.
const maxSent = 64

// Desk tracks the requests sent to a legacy client until their answers. The zero value is empty. It is safe for
// concurrent use.
type Desk struct {
	// Notify sends a message outside any request; nil means that this is impossible.
	Notify func(msg []byte)
	// Prefix makes the IDs differ from those of other desks of the client; "" has numbers alone.
	Prefix string

	mu    sync.Mutex
	sent  map[string]*Sent // by id
	count uint64           // total, for ids
}

// Sent is a request sent to a client.
type Sent struct {
	desk   *Desk
	id     json.RawMessage
	tell   func(messages ...[]byte)
	answer chan *jsonrpc.Message // buffered, one message
}

// Send sends a request by tell. The caller must call Wait or Drop.
func (d *Desk) Send(method string, params json.RawMessage, tell func(messages ...[]byte)) (*Sent, error) {
	s, err := d.add(tell)
	if err != nil {
		return nil, err
	}
	m := jsonrpc.Message{ID: s.id, Method: method, Params: params}
	tell(jsonraw.OneLine(m.Append(nil)))
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
	if d.Prefix != "" {
		s.id = jsonraw.AppendString(nil, d.Prefix+"-"+string(s.id))
	}
	if d.sent == nil {
		d.sent = map[string]*Sent{}
	}
	d.sent[string(s.id)] = s
	return s, nil
}

// Answered delivers a client's response, and reports whether it was awaited. Responses to unknown or abandoned requests are
// ignored.
func (d *Desk) Answered(m *jsonrpc.Message) bool {
	d.mu.Lock()
	s := d.sent[string(m.ID)]
	delete(d.sent, string(m.ID))
	d.mu.Unlock()
	if s != nil {
		s.answer <- ownCopy(m) // the transport reuses its buffer
	}
	return s != nil
}

// Waiting returns the number of unanswered requests.
func (d *Desk) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sent)
}

// ownCopy returns a response that shares no memory with m. Error data is dropped.
func ownCopy(m *jsonrpc.Message) *jsonrpc.Message {
	own := &jsonrpc.Message{Result: slices.Clone(m.Result)}
	if m.Error != nil {
		e := *m.Error
		e.Data = nil
		own.Error = &e
	}
	return own
}

// Wait waits for the answer. If ctx ends first, with runtime.ErrUnanswered as cause or because the call has ended,
// it cancels the request at the client and ignores a late answer.
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
		s.withdraw("the deadline is exceeded")
		return runtime.Answer{Err: &runtime.AskError{Kind: runtime.KindTimeout, Message: "the client did not answer in time"}}
	}
	if s.forget() {
		s.recall()
	}
	return runtime.Answer{Err: &runtime.AskError{Kind: runtime.KindUnavailable, Message: "the call is over"}}
}

// Drop abandons the request and cancels it at the client unless it was answered. It is idempotent and may follow
// Wait.
func (s *Sent) Drop() {
	if s.forget() {
		s.withdraw("the deadline is exceeded")
	}
}

// forget removes the request and reports whether it was unanswered.
func (s *Sent) forget() (open bool) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	_, open = s.desk.sent[string(s.id)]
	delete(s.desk.sent, string(s.id))
	return open
}

// withdraw cancels the request at the client.
func (s *Sent) withdraw(why string) { s.tell(s.cancelled(why)) }

// recall cancels the request through Notify, as the stream of the ended call is closed.
func (s *Sent) recall() {
	if s.desk.Notify != nil {
		s.desk.Notify(s.cancelled("the call is over"))
	}
}

func (s *Sent) cancelled(why string) []byte {
	return jsonrpc.Notification("notifications/cancelled", jsonraw.Object{
		{Key: "requestId", Value: s.id}, {Key: "reason", Value: jsonraw.AppendString(nil, why)}})
}

// codeUserRejected is the client's error code if the user rejects sampling.
const codeUserRejected = -1

// clientError maps a client's error to the error for the plugin.
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
