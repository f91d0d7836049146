package protocol

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// resumption is the continuation state of a modern request. A call that asks ends with its questions, and a later
// request with the answers runs it again.
type resumption struct {
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

// resume prepares a modern call: fresh, or continued from its requestState.
func (r *request) resume(call *catalog.Call) error {
	m := &r.resumption
	o, err := jsonraw.ParseObject(r.call.Params)
	if err != nil {
		return jsonrpc.InvalidParams("%v", err)
	}
	text, given := o.Get("requestState"), o.Get("inputResponses")
	if m.rounds.Given, err = inputrequest.Responses(given); err != nil {
		return err
	}
	m.meta, m.journal = r.call.Raw, journal.New()
	if !jsonraw.IsNull(text) {
		if err := r.restore(text); err != nil {
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
	if r.task == nil {
		return nil
	}
	return r.server.tasks.Journal(r.task, m.journal)
}

// restore opens the requestState of a request. If answers are missing, it asks for them again and runs nothing.
func (r *request) restore(raw json.RawMessage) error {
	m := &r.resumption
	text, ok := jsonraw.String(raw)
	if !ok {
		return jsonrpc.InvalidParams("params.requestState must be a string")
	}
	s, err := r.server.waiting.Open(text, r.purpose(), r.begun())
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	m.state, m.rounds.Count, m.meta, r.callID, r.minted = s, s.Round, s.Meta, s.Call, s.Session
	complete := inputrequest.Take(s.Pending, m.rounds.Given)
	m.rounds.Given = nil
	if !complete {
		return r.again()
	}
	if m.use, err = r.server.waiting.Use(s, r.taskID()); err != nil {
		return err
	}
	if s.Parked != "" {
		if m.parked = r.server.parking.Take(s.Parked); m.parked == nil {
			return jsonrpc.InvalidParams("%v", continuation.ErrGone)
		}
	}
	if m.journal, err = journal.Decode(s.Journal); err != nil {
		return jsonrpc.InvalidParams("%v", continuation.ErrTampered)
	}
	return nil
}

// again repeats the questions without an answer.
func (r *request) again() error {
	m := &r.resumption
	declared := r.declared()
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

// askModern answers a round from the answers in the request, or suspends the call.
func (r *request) askModern(round []runtime.Question) ([]runtime.Answer, error) {
	m := &r.resumption
	if s := m.state; s != nil && s.Pending != nil { // the journal has verified that the round is the same
		list := s.Pending
		s.Pending = nil
		return inputrequest.Answers(list, len(round))
	}
	list, complete, err := r.Round(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return inputrequest.Answers(list, len(round))
	}
	size, room := continuation.StateSize(m.meta, m.journal.Size(), list), r.server.waiting.Room(durable(r.conn.opts.Principal))
	if size > room {
		return inputrequest.Refuse(len(round), &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf(
			"the call's journal is too large for a question: %d bytes, and at most %d fit", size, room)}), nil
	}
	m.pending, m.suspended = list, true
	return nil, errSuspended
}

// inputRequired answers with the input_required result.
func (r *request) inputRequired() ([]byte, error) {
	raw, err := r.inputRequest()
	if err != nil {
		return nil, err
	}
	return r.prepared(raw), nil
}

// inputRequest returns the input_required result. It is built once, so that a request has only one state.
func (r *request) inputRequest() (json.RawMessage, error) {
	m := &r.resumption
	if m.asked != nil {
		return m.asked, nil
	}
	text, err := r.seal()
	if err != nil {
		return nil, err
	}
	m.asked = jsonraw.OneLine(jsonraw.Object{
		{Key: "resultType", Value: json.RawMessage(`"input_required"`)},
		{Key: "inputRequests", Value: inputrequest.Requests(m.pending).Append(nil)},
		{Key: "requestState", Value: jsonraw.AppendString(nil, text)},
		{Key: "_meta", Value: r.server.form.Meta},
	}.Append(nil))
	return m.asked, nil
}

// seal returns the requestState of the current round. A repeated round keeps its id, so that it can be answered
// only once.
func (r *request) seal() (string, error) {
	m := &r.resumption
	s := &continuation.State{
		ID: rand.Text(), Purpose: r.purpose(), Call: r.callID, Meta: m.meta, Round: m.rounds.Count, Pending: m.pending, Session: r.minted,
	}
	if m.state != nil && m.use == nil {
		s.ID, s.Journal, s.Parked = m.state.ID, m.state.Journal, m.state.Parked
	} else {
		s.Journal = m.journal.Append(nil)
	}
	if m.parked != nil {
		s.Parked = m.parked.Handle
	}
	m.until = r.server.now().Add(max(m.lasts, r.server.opts.AskTime))
	s.Expires = m.until.Unix()
	return r.server.waiting.Seal(s, durable(r.conn.opts.Principal))
}

// purpose binds the state to principal, method and params.
func (r *request) purpose() continuation.Purpose {
	return continuation.NewPurpose(r.conn.opts.Principal, r.conn.opts.Proof, r.call.Method, r.call.Params)
}

// begun returns the time at which the client presented the state. For a task it is the creation time.
func (r *request) begun() time.Time {
	if r.task != nil {
		return r.task.Created
	}
	return r.server.now()
}

// taskID returns the ID of the request's task, or "" without one.
func (r *request) taskID() string {
	if r.task == nil {
		return ""
	}
	return r.task.ID
}

// Round converts a round of plugin questions to questions for the client, with unused keys. complete reports
// whether all already have answers.
func (r *request) Round(round []runtime.Question) (list []inputrequest.Question, complete bool, err error) {
	var used []string
	if r.task != nil { // keys of a task are never reused
		used = r.task.Asked
	}
	return r.resumption.rounds.Next(round, r.declared(), used)
}
