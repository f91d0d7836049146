package protocol

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// resumption is the continuation state of a modern request. A call that asks ends with its questions, and a later
// request with the answers runs it again.
type resumption struct {
	conn *Conn
	call *envelope.Call

	journal   *journal.Journal
	rounds    inputrequest.Rounds
	state     *continuation.State     // from the request; nil in the first round
	pending   []inputrequest.Question // to send now
	meta      json.RawMessage         // of the first request
	use       *continuation.Use       // of the state
	suspended bool
	asked     json.RawMessage          // cached input_required result
	until     time.Time                // expiry of the new state
	parked    *continuation.ParkedCall // call suspended in its instance; nil if it is replayed
	lasts     time.Duration            // validity of the state, if longer than AskTime
}

// errSuspended ends the run of a call that asks.
var errSuspended = &runtime.EndError{Kind: runtime.KindInput, Message: "the call waits for the client's answers", Err: hostfuncs.ErrSuspended}

// resume prepares a modern call: fresh, or continued from its requestState. t is the task that it runs, or nil.
func (m *resumption) resume(call *catalog.Call, t *task.Task) error {
	o, err := jsonraw.ParseObject(m.call.Params)
	if err != nil {
		return jsonrpc.InvalidParams("%v", err)
	}
	text, given := o.Get("requestState"), o.Get("inputResponses")
	if m.rounds.Given, err = inputrequest.Responses(given); err != nil {
		return err
	}
	m.meta, m.journal = m.call.Raw, journal.New()
	if !jsonraw.IsNull(text) {
		if err := m.restore(text, t); err != nil {
			return err
		}
		o.Set("_meta", m.meta)
		first := envelope.ReadMeta(m.meta)
		call.Trace, call.Timeout = first.Trace(), first.Timeout()
	}
	if text != nil || given != nil {
		o.Delete("requestState")
		o.Delete("inputResponses")
		call.Params = o.Append(nil)
	}
	call.Journal = m.journal
	if t == nil {
		return nil
	}
	return m.conn.server.tasks.Journal(t, m.journal)
}

// restore opens the requestState of a request. If answers are missing, it asks for them again and runs nothing.
func (m *resumption) restore(raw json.RawMessage, t *task.Task) error {
	text, ok := jsonraw.String(raw)
	if !ok {
		return jsonrpc.InvalidParams("params.requestState must be a string")
	}
	by, presented := "", m.conn.server.now()
	if t != nil { // its client presented the state when it opened the task
		by, presented = t.ID, t.Created
	}
	s, err := m.conn.server.waiting.Open(text, m.purpose(), presented)
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	m.state, m.rounds.Count, m.meta = s, s.Round, s.Meta
	complete := inputrequest.Take(s.Pending, m.rounds.Given)
	m.rounds.Given = nil
	if !complete {
		return m.again()
	}
	if m.use, err = m.conn.server.waiting.Use(s, by); err != nil {
		return err
	}
	if s.Parked != "" {
		if m.parked = m.conn.server.parking.Take(s.Parked); m.parked == nil {
			return jsonrpc.InvalidParams("%v", continuation.ErrGone)
		}
	}
	if m.journal, err = journal.Decode(s.Journal); err != nil {
		return jsonrpc.InvalidParams("%v", continuation.ErrTampered)
	}
	return nil
}

// again repeats the questions without an answer.
func (m *resumption) again() error {
	declared := inputrequest.Declared(m.call.Capabilities)
	for _, p := range m.state.Pending {
		if p.Open() {
			if err := declared.Undeclared(runtime.Question{Method: p.Method, Params: p.Params}); err != nil {
				return err
			}
		}
	}
	m.pending, m.suspended = m.state.Pending, true
	return errSuspended
}

// answered returns the questions answered by this request, once; nil if there are none.
func (m *resumption) answered() []inputrequest.Question {
	if m.state == nil {
		return nil
	}
	list := m.state.Pending
	m.state.Pending = nil
	return list
}

// suspend ends the run with questions, unless the state would be too large.
func (m *resumption) suspend(list []inputrequest.Question) error {
	size, room := continuation.StateSize(m.meta, m.journal.Size(), list), m.conn.server.waiting.Room(identity.Named(m.conn.opts.Principal))
	if size > room {
		return &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf(
			"the call's journal is too large for a question: %d bytes, and at most %d fit", size, room)}
	}
	m.pending, m.suspended = list, true
	return nil
}

// inputRequest returns the input_required result of the call with this id, which began a session (minted) or "". It
// is built once, so that a request has only one state.
func (m *resumption) inputRequest(id, minted string) (json.RawMessage, error) {
	if m.asked != nil {
		return m.asked, nil
	}
	text, err := m.seal(id, minted)
	if err != nil {
		return nil, err
	}
	m.asked = jsonraw.OneLine(jsonraw.Object{
		{Key: "resultType", Value: json.RawMessage(`"input_required"`)},
		{Key: "inputRequests", Value: inputrequest.Requests(m.pending).Append(nil)},
		{Key: "requestState", Value: jsonraw.AppendString(nil, text)},
		{Key: "_meta", Value: m.conn.server.greeting.Form.Meta},
	}.Append(nil))
	return m.asked, nil
}

// asking returns the input_required result and its expiry.
func (m *resumption) asking(id, minted string) (jsonraw.Object, time.Time, error) {
	raw, err := m.inputRequest(id, minted)
	if err != nil {
		return nil, time.Time{}, err
	}
	o, err := jsonraw.ParseObject(raw)
	return o, m.until, err
}

// seal returns the requestState of the current round. A repeated round keeps its id, so that it can be answered
// only once.
func (m *resumption) seal(id, minted string) (string, error) {
	s := &continuation.State{
		ID: rand.Text(), Purpose: m.purpose(), Call: id, Meta: m.meta, Round: m.rounds.Count, Pending: m.pending, Session: minted,
	}
	if m.state != nil && m.use == nil {
		s.ID, s.Journal, s.Parked = m.state.ID, m.state.Journal, m.state.Parked
	} else {
		s.Journal = m.journal.Append(nil)
	}
	if m.parked != nil {
		s.Parked = m.parked.Handle
	}
	m.until = m.conn.server.now().Add(max(m.lasts, m.conn.server.opts.AskTime))
	s.Expires = m.until.Unix()
	return m.conn.server.waiting.Seal(s, identity.Named(m.conn.opts.Principal))
}

// purpose binds the state to principal, method and params.
func (m *resumption) purpose() continuation.Purpose {
	return continuation.NewPurpose(m.conn.opts.Principal, m.conn.opts.Proof, m.call.Method, m.call.Params)
}
