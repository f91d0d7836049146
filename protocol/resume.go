package protocol

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// resumption is how a modern request asks its client: the call ends with the questions, and a later
// request that brings the answers runs it again.
type resumption struct {
	journal   *journal.Journal
	given     rawjson.Object // inputResponses
	state     *state         // that the request brought; nil in the first round
	pending   []pending      // questions to send now
	round     int
	meta      json.RawMessage // of the first request
	claim     *claim
	suspended bool
	parked    *parked       // the call that waits where it asked; nil if it is run again
	lasts     time.Duration // how long the state is good for, if that is longer than usual
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
	if m.given, err = readResponses(given); err != nil {
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
	return r.keepJournal()
}

// restore takes the state up that a request brings. Answers that are still missing are asked for again,
// without running anything.
func (r *request) restore(raw json.RawMessage) error {
	m := &r.resumption
	text, ok := rawjson.String(raw)
	if !ok {
		return jsonrpc.InvalidParams("params.requestState must be a string")
	}
	s, err := r.openState(text)
	if err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	m.state, m.round, m.meta, r.call, r.minted = s, s.Round, s.Meta, s.Call, s.Session
	complete := s.take(m.given)
	m.given = nil
	if !complete {
		return r.again()
	}
	claim, err := r.server.spent.claim(s.ID, time.Unix(s.Expires, 0))
	if err != nil {
		return err
	}
	if err := r.spend(s); err != nil {
		claim.release()
		return err
	}
	m.claim = claim
	if s.Parked != "" {
		if m.parked = r.server.parking.take(s.Parked); m.parked == nil {
			return jsonrpc.InvalidParams("%v", errParked)
		}
	}
	if m.journal, err = journal.Decode(s.Journal); err != nil {
		return jsonrpc.InvalidParams("%v", errTampered)
	}
	return nil
}

// again asks once more for the answers that are missing.
func (r *request) again() error {
	m := &r.resumption
	declared := r.declared()
	for _, p := range m.state.Pending {
		if p.open() {
			if err := declared.undeclared(runtime.Question{Method: p.Method, Params: p.Params}); err != nil {
				return err
			}
		}
	}
	m.pending, m.suspended = m.state.Pending, true
	return errSuspended
}

// readResponses reads inputResponses: an object of objects.
func readResponses(raw json.RawMessage) (rawjson.Object, error) {
	if rawjson.IsNull(raw) {
		return nil, nil
	}
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, jsonrpc.InvalidParams("params.inputResponses must be an object")
	}
	for _, m := range o {
		if !rawjson.IsObject(m.Value) {
			return nil, jsonrpc.InvalidParams("params.inputResponses[%q] must be an object", jsonrpc.Clip(m.Key))
		}
	}
	return o, nil
}

// askModern answers a round from what came with the request, or ends the call.
func (r *request) askModern(round []runtime.Question) ([]runtime.Answer, error) {
	m := &r.resumption
	if s := m.state; s != nil && s.Pending != nil { // the journal has seen to it that it is the same round
		list := s.Pending
		s.Pending = nil
		return answersOf(list, len(round))
	}
	if m.round >= maxRounds {
		return nil, tooManyRounds()
	}
	m.round++
	list, complete := r.questions(round)
	if complete {
		return answersOf(list, len(round))
	}
	if size, room := r.stateSize(list), r.roomForState(); size > room {
		return refuseRound(len(round), &runtime.AskError{Kind: runtime.KindLimit, Message: fmt.Sprintf(
			"the call did too much before it asked: what it was answered has %d bytes, and a question can wait with %d", size, room)}), nil
	}
	m.pending, m.suspended = list, true
	return nil, errSuspended
}

func tooManyRounds() error {
	return &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("the call asks more than %d times", maxRounds)}
}

func refuseRound(n int, err error) []runtime.Answer {
	return slices.Repeat([]runtime.Answer{{Err: err}}, n)
}

// stateSize is about how large the state of a call will be that asks these questions.
func (r *request) stateSize(list []pending) int {
	size := stateOverhead + len(r.resumption.meta) + r.resumption.journal.Size()
	for _, p := range list {
		size += len(p.Key) + len(p.Method) + len(p.Params) + len(p.Refused) + len(p.Answer) + stateOverhead
	}
	return size
}

// stateOverhead is what a state, or a question in it, has beside its texts, at most, in bytes.
const stateOverhead = 512

// questions makes a round what is sent. Complete says that nothing is left to ask: all was refused, or
// answered before it was asked by a client that knows the plugin's keys.
func (r *request) questions(round []runtime.Question) (list []pending, complete bool) {
	declared, complete := r.declared(), true
	keys := map[string]bool{}
	if r.task != nil { // whose keys are never used again
		for _, key := range r.task.Asked {
			keys[key] = true
		}
	}
	for i, q := range round {
		p := pending{Key: q.Key, Method: q.Method, Params: declared.fit(q, "")}
		named := validKey(q.Key) && !keys[q.Key]
		for n := i + 1; !named && (n == i+1 || keys[p.Key]); n += len(round) {
			p.Key = fmt.Sprintf("ask-%d-%d", r.resumption.round, n)
		}
		keys[p.Key] = true
		if refused := declared.undeclared(q); refused != nil {
			p.Refused, p.Requires = refused.Message, refused.Requires
		} else if named {
			p.Answer = r.resumption.given.Get(p.Key)
		}
		complete = complete && !p.open()
		list = append(list, p)
	}
	return list, complete
}

// maxKey bounds the name that a plugin gives a question, in bytes.
const maxKey = 64

// validKey reports whether a plugin's name for a question can be shown to a client.
func validKey(key string) bool {
	for _, c := range []byte(key) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}

func answersOf(list []pending, n int) ([]runtime.Answer, error) {
	if len(list) != n {
		return nil, errors.New("the state holds another round")
	}
	answers := make([]runtime.Answer, n)
	for i, p := range list {
		answers[i].Result = p.Answer
		if p.Refused != "" {
			answers[i] = runtime.Answer{Err: &runtime.AskError{Kind: runtime.KindUnsupported, Message: p.Refused, Requires: p.Requires}}
		}
	}
	return answers, nil
}

// inputRequests are the questions that a client has to answer, by key.
func inputRequests(list []pending) (requests rawjson.Object) {
	for _, p := range list {
		if p.open() {
			requests = append(requests, rawjson.Member{Key: p.Key, Value: rawjson.Object{
				{Key: "method", Value: rawjson.AppendString(nil, p.Method)},
				{Key: "params", Value: p.Params},
			}.Append(nil)})
		}
	}
	return requests
}

// inputRequired is the result that asks the client.
func (r *request) inputRequired() ([]byte, error) {
	text, err := r.seal()
	if err != nil {
		return nil, err
	}
	return r.prepared(rawjson.OneLine(rawjson.Object{
		{Key: "resultType", Value: json.RawMessage(`"input_required"`)},
		{Key: "inputRequests", Value: inputRequests(r.resumption.pending).Append(nil)},
		{Key: "requestState", Value: rawjson.AppendString(nil, text)},
		{Key: "_meta", Value: r.server.meta},
	}.Append(nil))), nil
}

// seal makes the requestState of the round that is asked now. A round that is asked again keeps its id,
// so that it is answered once all the same.
func (r *request) seal() (string, error) {
	m := &r.resumption
	s := &state{
		ID: rand.Text(), Principal: r.conn.opts.Principal, Method: r.method, Params: digestParams(r.params),
		Call: r.call, Meta: m.meta, Round: m.round, Pending: m.pending, Session: r.minted,
	}
	if m.state != nil && m.claim == nil {
		s.ID, s.Journal, s.Parked = m.state.ID, m.state.Journal, m.state.Parked
	} else {
		s.Journal = m.journal.Append(nil)
	}
	if m.parked != nil {
		s.Parked = m.parked.handle
	}
	s.Expires = r.server.now().Add(max(m.lasts, r.server.opts.AskTime)).Unix()
	plain, err := s.encode()
	if err == nil && len(plain) > MaxState && r.roomForState() > MaxState {
		if err = r.putAway(s); err == nil {
			plain, err = s.encode()
		}
	}
	if err != nil {
		return "", err
	}
	return r.server.keys.Seal(plain), nil
}
