package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// MaxState bounds a requestState, in bytes before it is encoded: clients keep it and send it back with
// the whole request.
const MaxState = 32 << 10

// maxRounds is how often one call may ask. Clients give up sooner.
const maxRounds = 32

// state is a call that waits for answers: what its requestState seals. Its fields are those that a
// later request must agree with, and those that the call goes on with.
type state struct {
	ID        string `json:"id"` // used once
	Expires   int64  `json:"exp"`
	Principal string `json:"who"`
	Method    string `json:"method"`
	Params    []byte `json:"params"` // digest of what was asked for

	Call    string          `json:"call"`           // the call's id, the same in each round
	Meta    json.RawMessage `json:"meta,omitempty"` // of the first request, which the plugin saw
	Round   int             `json:"round"`
	Pending []pending       `json:"ask"`

	// Kept is the journal's name in the store; "" if it is in the state itself.
	Kept    string `json:"kept,omitempty"`
	Journal []byte `json:"-"`
	// Parked is the handle of a call that waits in this process; "" if it is run again.
	Parked string `json:"parked,omitempty"`
	// Session is the session that the call began; "" if it began none.
	Session string `json:"session,omitempty"`
}

// pending is one question of the round that the call waits for.
type pending struct {
	Key    string          `json:"key"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	// Refused says why it was not asked: the client did not declare it.
	Refused  string          `json:"no,omitempty"`
	Requires json.RawMessage `json:"needs,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
}

// take takes answers in, and reports whether all questions have one now.
func (s *state) take(given rawjson.Object) (complete bool) {
	complete = true
	for i := range s.Pending {
		p := &s.Pending[i]
		if p.open() {
			p.Answer = given.Get(p.Key)
		}
		complete = complete && !p.open()
	}
	return complete
}

// open reports whether the client still has to answer it.
func (p *pending) open() bool { return p.Refused == "" && p.Answer == nil }

// What is wrong with a requestState. The texts are for whoever writes clients.
var (
	errTampered     = errors.New("requestState was not made by this server, or was changed")
	errExpired      = errors.New("requestState has expired: send the request without it")
	errOtherRequest = errors.New("requestState belongs to another request")
	errOtherBuild   = errors.New("requestState belongs to another version of the plugin or its grants: send the request without it")
	errElsewhere    = errors.New("requestState belongs to a call that another process keeps: send the request without it")
	errUsed         = errors.New("requestState was used already")
)

// encode writes the state without its journal as JSON, and the journal after it.
func (s *state) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	dst := binary.AppendUvarint(nil, uint64(b.Len()))
	return append(append(dst, b.Bytes()...), s.Journal...), nil
}

func decodeState(plain []byte) (*state, error) {
	n, k := binary.Uvarint(plain)
	if k <= 0 || n > uint64(len(plain)-k) {
		return nil, errTampered
	}
	s := &state{}
	if err := json.Unmarshal(plain[k:k+int(n)], s); err != nil {
		return nil, errTampered
	}
	s.Journal = plain[k+int(n):]
	return s, nil
}

// openState opens a requestState and holds it against the request that brings it.
func (r *request) openState(text string) (*state, error) {
	plain, err := r.server.keys.Open(text)
	if err != nil {
		return nil, errTampered
	}
	s, err := decodeState(plain)
	switch {
	case err != nil:
		return nil, err
	case s.Principal != r.conn.opts.Principal, s.Method != r.method, !bytes.Equal(s.Params, digestParams(r.params)):
		return nil, errOtherRequest
	case r.begun().After(time.Unix(s.Expires, 0)):
		return nil, errExpired
	}
	return s, r.fetchJournal(s)
}

// begun is when the client brought the state: of a task that is run again, when it did first.
func (r *request) begun() time.Time {
	if r.task != nil {
		return r.task.Created
	}
	return r.server.now()
}

// digestParams is the digest of what a request asks for, without what differs from round to round.
// Order and spelling of JSON do not matter, since clients write their requests anew.
func digestParams(params json.RawMessage) []byte {
	o, _ := rawjson.ParseObject(params)
	for _, key := range [...]string{"_meta", "inputResponses", "requestState"} {
		o.Delete(key)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(o.Append(nil)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil // which no digest equals
	}
	canonical, err := json.Marshal(v) // sorts keys
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(canonical)
	return sum[:]
}
