package sallyport

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Kind says in one word why the host did not do what it was asked.
type Kind string

// The kinds of an [AskError].
const (
	KindDenied      Kind = "denied"      // no grant allows it
	KindInvalid     Kind = "invalid"     // the request is malformed
	KindUnsupported Kind = "unsupported" // this host or this client cannot do it
	KindUnavailable Kind = "unavailable" // the other side is not there
	KindTimeout     Kind = "timeout"     // it took too long
	KindLimit       Kind = "limit"       // a bound was reached
	KindConflict    Kind = "conflict"    // somebody else changed it
)

// AskError is the host's answer to something it refused or could not do.
type AskError struct {
	Kind       Kind
	Message    string        // one sentence
	Hint       string        // what an operator can write or type to allow it; may be empty
	RetryAfter time.Duration // how long to wait before asking again; 0 says nothing
	Code       int           // the JSON-RPC code, for those who must know
	// Requires is what the client would have to declare to be asked this, as MCP writes capabilities; nil
	// if that is not the reason. A handler that returns the error tells the client so.
	Requires json.RawMessage
}

// Error is the message, or the kind where there is none.
func (e *AskError) Error() string {
	if e.Message == "" {
		return string(e.Kind)
	}
	return e.Message
}

// KindOf returns the kind of the [AskError] in err's chain, or "" if there is none.
func KindOf(err error) Kind {
	if a, ok := errors.AsType[*AskError](err); ok {
		return a.Kind
	}
	return ""
}

// Ask asks the host for anything it knows by name, an MCP method such as sampling/createMessage or one
// of Sallyport's own such as kv/get, and decodes the result into result, a pointer, unless that is nil.
// A refusal or failure is an [*AskError].
func (c *Call) Ask(method string, params, result any) error {
	request, err := askJSON(method, "", params)
	if err != nil {
		return err
	}
	raw, err := c.exchange(request)
	if err != nil {
		return err
	}
	return decodeAnswer(raw, result)
}

// Asking is one request of a [Call.Round].
type Asking struct {
	Method string
	Key    string // names the request for the client, if it goes there; "" lets the host choose
	Params any    // encoded as JSON; nil for none
	Result any    // a pointer for the result; nil to drop it
	Err    error  // set by Round: an *AskError if this request was refused or failed
}

// Round asks for several things at once, so that a person is asked once. Each request gets its Result
// or its Err; the error returned is about the round as a whole.
func (c *Call) Round(asks ...*Asking) error {
	requests := make([][]byte, len(asks))
	for i, a := range asks {
		raw, err := askJSON(a.Method, a.Key, a.Params)
		if err != nil {
			return err
		}
		requests[i] = raw
	}
	raw, err := c.exchange(jsontext.Array(requests))
	if err != nil {
		return err
	}
	return decodeRound(raw, asks)
}

func decodeRound(raw []byte, asks []*Asking) error {
	var answers []json.RawMessage
	if err := json.Unmarshal(raw, &answers); err != nil {
		return decodeAnswer(raw, nil) // one error for all
	}
	if len(answers) != len(asks) {
		return &AskError{Kind: KindInvalid, Message: "the host answered another number of requests"}
	}
	for i, a := range asks {
		a.Err = decodeAnswer(answers[i], a.Result)
	}
	return nil
}

func askJSON(method, key string, params any) ([]byte, error) {
	var o jsontext.Object
	o.Text("method", method)
	o.Optional("key", key)
	if params != nil {
		if err := o.Value("params", params); err != nil {
			return nil, err
		}
	}
	return o.Bytes(), nil
}

// exchange sends a request and reads the whole answer.
func (c *Call) exchange(request []byte) ([]byte, error) {
	n := c.host.Call(request)
	if n < 0 {
		c.ended(Errno(-n))
		return nil, Errno(-n)
	}
	stream, size := uint32(n>>32), n&0xFFFFFFFF
	if size == unknownSize {
		size = 0
	}
	raw, err := readAll(c.host, stream, size)
	c.host.Close(stream)
	return raw, err
}

// answer is what the host says to a request.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Kind         Kind   `json:"kind"`
			Hint         string `json:"hint"`
			RetryAfterMs int64  `json:"retryAfterMs"`

			Requires json.RawMessage `json:"requiredCapabilities"`
		} `json:"data"`
	} `json:"error"`
}

func decodeAnswer(raw []byte, result any) error {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return &AskError{Kind: KindInvalid, Message: "the host's answer is not JSON: " + err.Error()}
	}
	if e := a.Error; e != nil {
		return &AskError{
			Kind: e.Data.Kind, Message: e.Message, Hint: e.Data.Hint, Code: e.Code, Requires: e.Data.Requires,
			RetryAfter: time.Duration(e.Data.RetryAfterMs) * time.Millisecond,
		}
	}
	if result == nil || len(a.Result) == 0 {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}
