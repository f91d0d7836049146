package protocol

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/protocol/ask"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/parked"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/resume"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// resumption is how a modern request asks its client: the call ends with the questions, and a later
// request that brings the answers runs it again.
type resumption struct {
	journal   *journal.Journal
	rounds    ask.Rounds
	state     *resume.State   // that the request brought; nil in the first round
	pending   []ask.Question  // to send now
	meta      json.RawMessage // of the first request
	use       *resume.Use     // of the state
	suspended bool
	asked     json.RawMessage // the result that asks for them, once it is made
	until     time.Time       // when its state expires
	parked    *parked.Call    // the call that waits where it asked; nil if it is run again
	lasts     time.Duration   // how long the state is good for, if that is longer than usual
}

// errSuspended ends the run of a call that asks.
var errSuspended = &runtime.EndError{Kind: runtime.KindInput, Message: "the call waits for the client's answers", Err: hostfuncs.ErrSuspended}

// resume prepares a call of the modern era: with nothing before it, or where its requestState left it.
func (r *request) resume(call *catalogue.Call) error {
	m := &r.resumption
	o, err := rawjson.ParseObject(r.params)
	if err != nil {
		return jsonrpc.InvalidParams("%v", err)
	}
	text, given := o.Get("requestState"), o.Get("inputResponses")
	if m.rounds.Given, err = ask.Responses(given); err != nil {
		return err
	}
	m.meta, m.journal = o.Get("_meta"), journal.New()
	if !rawjson.IsNull(text) {
		if err := r.restore(text); err != nil {
			return err
		}
		o.Set("_meta", m.meta)
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

// restore takes the state up that a request brings. Answers that are still missing are asked for again,
// without running anything.
func (r *request) restore(raw json.RawMessage) error {
	m := &r.resumption
	text, ok := rawjson.String(raw)
	if !ok {
		return jsonrpc.InvalidParams("params.requestState must be a string")
	}
	s, err := r.server.waiting.Open(text, r.purpose(), r.begun())
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	m.state, m.rounds.Count, m.meta, r.call, r.minted = s, s.Round, s.Meta, s.Call, s.Session
	complete := ask.Take(s.Pending, m.rounds.Given)
	m.rounds.Given = nil
	if !complete {
		return r.again()
	}
	if m.use, err = r.server.waiting.Use(s, r.taskID()); err != nil {
		return err
	}
	if s.Parked != "" {
		if m.parked = r.server.parking.Take(s.Parked); m.parked == nil {
			return jsonrpc.InvalidParams("%v", parked.ErrGone)
		}
	}
	if m.journal, err = journal.Decode(s.Journal); err != nil {
		return jsonrpc.InvalidParams("%v", resume.ErrTampered)
	}
	return nil
}

// again asks once more for the answers that are missing.
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

// askModern answers a round from what came with the request, or ends the call.
func (r *request) askModern(round []runtime.Question) ([]runtime.Answer, error) {
	m := &r.resumption
	if s := m.state; s != nil && s.Pending != nil { // the journal has seen to it that it is the same round
		list := s.Pending
		s.Pending = nil
		return ask.Answers(list, len(round))
	}
	list, complete, err := r.Round(round)
	if err != nil {
		return nil, err
	}
	if complete {
		return ask.Answers(list, len(round))
	}
	size, room := resume.Size(m.meta, m.journal.Size(), list), r.server.waiting.Room(durable(r.conn.opts.Principal))
	if size > room {
		return ask.Refuse(len(round), &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf(
			"the call did too much before it asked: what it was answered has %d bytes, and a question can wait with %d", size, room)}), nil
	}
	m.pending, m.suspended = list, true
	return nil, errSuspended
}

// inputRequired answers with the result that asks the client.
func (r *request) inputRequired() ([]byte, error) {
	raw, err := r.inputRequest()
	if err != nil {
		return nil, err
	}
	return r.prepared(raw), nil
}

// inputRequest is the result that asks the client: one, with one state, however often it is wanted.
func (r *request) inputRequest() (json.RawMessage, error) {
	m := &r.resumption
	if m.asked != nil {
		return m.asked, nil
	}
	text, err := r.seal()
	if err != nil {
		return nil, err
	}
	m.asked = rawjson.OneLine(rawjson.Object{
		{Key: "resultType", Value: json.RawMessage(`"input_required"`)},
		{Key: "inputRequests", Value: ask.Requests(m.pending).Append(nil)},
		{Key: "requestState", Value: rawjson.AppendString(nil, text)},
		{Key: "_meta", Value: r.server.form.Meta},
	}.Append(nil))
	return m.asked, nil
}

// seal makes the requestState of the round that is asked now. A round that is asked again keeps its id,
// so that it is answered once all the same.
func (r *request) seal() (string, error) {
	m := &r.resumption
	s := &resume.State{
		ID: rand.Text(), Purpose: r.purpose(), Call: r.call, Meta: m.meta, Round: m.rounds.Count, Pending: m.pending, Session: r.minted,
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

// purpose is what the request's state is for.
func (r *request) purpose() resume.Purpose {
	return resume.NewPurpose(r.conn.opts.Principal, r.conn.opts.Proof, r.method, r.params)
}

// begun is when the client brought the state: of a task that is run again, when it did first.
func (r *request) begun() time.Time {
	if r.task != nil {
		return r.task.Created
	}
	return r.server.now()
}

// taskID is that of the task which the request is a run of; "" if it is none.
func (r *request) taskID() string {
	if r.task == nil {
		return ""
	}
	return r.task.ID
}

// Round makes a round of a plugin's questions what is sent.
func (r *request) Round(round []runtime.Question) (list []ask.Question, complete bool, err error) {
	var used []string
	if r.task != nil { // whose keys are never used again
		used = r.task.Asked
	}
	return r.resumption.rounds.Next(round, r.declared(), used)
}
