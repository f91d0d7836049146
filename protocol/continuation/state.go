package continuation

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/inputrequest"
)

// State is a call that waits for answers, as sealed in its requestState.
type State struct {
	ID      string `json:"id"` // single use
	Expires int64  `json:"exp"`
	Purpose

	Call    string                  `json:"call"`           // call id, the same in each round
	Meta    json.RawMessage         `json:"meta,omitempty"` // of the first request, as seen by the plugin
	Round   int                     `json:"round"`
	Pending []inputrequest.Question `json:"ask"`

	// Kept is the journal's name in the store; "" if the state contains it.
	Kept    string `json:"kept,omitempty"`
	Journal []byte `json:"-"`
	// Parked is the handle of a call suspended in this process; "" if it is replayed.
	Parked string `json:"parked,omitempty"`
	// Session is the session that the call began; "" if it began none.
	Session string `json:"session,omitempty"`
}

// Purpose binds a state to its request.
type Purpose struct {
	Principal string `json:"who"`
	Proof     string `json:"proof,omitempty"` // distinguishes equal principals of different servers
	Method    string `json:"method"`
	Params    []byte `json:"params"` // digest of the request params
}

// NewPurpose returns the purpose of a request.
func NewPurpose(principal, proof, method string, params json.RawMessage) Purpose {
	return Purpose{principal, proof, method, digest(params)}
}

func (p *Purpose) equal(o *Purpose) bool {
	return p.Principal == o.Principal && p.Proof == o.Proof && p.Method == o.Method && bytes.Equal(p.Params, o.Params)
}

// digest returns a digest of the params without members that differ between rounds. It ignores key order and
// formatting, as clients encode their requests again.
func digest(params json.RawMessage) []byte {
	o, _ := jsonraw.ParseObject(params)
	for _, key := range [...]string{"_meta", "inputResponses", "requestState"} {
		o.Delete(key)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(o.Append(nil)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil // equals no digest
	}
	canonical, err := json.Marshal(v) // sorts keys
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(canonical)
	return sum[:]
}

func (s *State) expires() time.Time { return time.Unix(s.Expires, 0) }

// overhead is the maximum size of a state, or of a question in it, without its texts, in bytes.
const overhead = 512

// StateSize estimates the size of the state of a call with these questions, in bytes.
func StateSize(meta json.RawMessage, journal int, list []inputrequest.Question) int {
	size := overhead + len(meta) + journal
	for _, q := range list {
		size += len(q.Key) + len(q.Method) + len(q.Params) + len(q.Refused) + len(q.Answer) + overhead
	}
	return size
}

// encode returns the state as JSON without its journal, followed by the journal.
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
