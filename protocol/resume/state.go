package resume

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
)

// State is a call that waits for answers: what its requestState seals.
type State struct {
	ID      string `json:"id"` // used once
	Expires int64  `json:"exp"`
	Purpose

	Call    string                  `json:"call"`           // the call's id, the same in each round
	Meta    json.RawMessage         `json:"meta,omitempty"` // of the first request, which the plugin saw
	Round   int                     `json:"round"`
	Pending []inputrequest.Question `json:"ask"`

	// Kept is the journal's name in the store; "" if it is in the state itself.
	Kept    string `json:"kept,omitempty"`
	Journal []byte `json:"-"`
	// Parked is the handle of a call that waits in this process; "" if it is run again.
	Parked string `json:"parked,omitempty"`
	// Session is the session that the call began; "" if it began none.
	Session string `json:"session,omitempty"`
}

// Purpose is what a later request must agree with.
type Purpose struct {
	Principal string `json:"who"`
	Proof     string `json:"proof,omitempty"` // tells it from a principal of the same name elsewhere
	Method    string `json:"method"`
	Params    []byte `json:"params"` // digest of what was asked for
}

// NewPurpose is that of a request.
func NewPurpose(principal, proof, method string, params json.RawMessage) Purpose {
	return Purpose{principal, proof, method, digest(params)}
}

func (p *Purpose) equal(o *Purpose) bool {
	return p.Principal == o.Principal && p.Proof == o.Proof && p.Method == o.Method && bytes.Equal(p.Params, o.Params)
}

// digest is that of what a request asks for, without what differs from round to round. Order and spelling of JSON do
// not matter, since clients write their requests anew.
func digest(params json.RawMessage) []byte {
	o, _ := jsonraw.ParseObject(params)
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

func (s *State) expires() time.Time { return time.Unix(s.Expires, 0) }

// overhead is what a state, or a question in it, has beside its texts, at most, in bytes.
const overhead = 512

// Size is about how large the state of a call will be that asks these questions, in bytes.
func Size(meta json.RawMessage, journal int, list []inputrequest.Question) int {
	size := overhead + len(meta) + journal
	for _, q := range list {
		size += len(q.Key) + len(q.Method) + len(q.Params) + len(q.Refused) + len(q.Answer) + overhead
	}
	return size
}

// encode writes the state without its journal as JSON, and the journal after it.
func (s *State) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	dst := binary.AppendUvarint(nil, uint64(b.Len()))
	return append(append(dst, b.Bytes()...), s.Journal...), nil
}

func decode(plain []byte) (*State, error) {
	n, k := binary.Uvarint(plain)
	if k <= 0 || n > uint64(len(plain)-k) {
		return nil, ErrTampered
	}
	s := &State{}
	if err := json.Unmarshal(plain[k:k+int(n)], s); err != nil {
		return nil, ErrTampered
	}
	s.Journal = plain[k+int(n):]
	return s, nil
}
