package sallyport

import (
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Kind is the reason for which the host refused a request or failed.
type Kind string

// Kinds of an [AskError].
const (
	KindDenied      Kind = "denied"      // no grant allows it
	KindInvalid     Kind = "invalid"     // the request is malformed
	KindUnsupported Kind = "unsupported" // not supported by this host or client
	KindUnavailable Kind = "unavailable" // the server or peer is unreachable
	KindTimeout     Kind = "timeout"     // deadline exceeded
	KindLimit       Kind = "limit"       // a limit was reached
	KindConflict    Kind = "conflict"    // a concurrent change
)

// AskError is the error of a request that the host refused or could not perform.
type AskError struct {
	Kind       Kind
	Message    string        // one sentence
	Hint       string        // configuration line or command with which an operator can allow it; may be empty
	RetryAfter time.Duration // time to wait before a retry; 0 if unknown
	Code       int           // JSON-RPC error code
	// Requires is the client capability that is missing for the request, in the form of MCP capabilities, or nil if
	// none is. A handler that returns the error reports it to the client.
	Requires json.RawMessage
}

// Error returns the message, or the kind if it is empty.
func (e *AskError) Error() string {
	if e.Message == "" {
		return string(e.Kind)
	}
	return e.Message
}

// KindOf returns the kind of the [AskError] in err's chain, or "" if there is none.
func KindOf(err error) Kind {
	if a, ok := asType[*AskError](err); ok {
		return a.Kind
	}
	return ""
}

// Ask sends a request to the host and decodes the result into result, a pointer, or drops it if result is nil. The
// method is an MCP method such as sampling/createMessage, or a Sallyport method such as kv/get. If the host refuses
// or fails, the error is an [*AskError].
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
	Key    string // identifies the request to the client; "" lets the host choose
	Params any    // encoded as JSON; may be nil
	Result any    // pointer to the result; nil drops it
	Err    error  // set by Round: an *AskError if this request was refused or failed
}

// Round sends several requests at once, so that a person is asked only once. It sets the Result or the Err of each
// request. The returned error concerns the round as a whole.
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
		return decodeAnswer(raw, nil) // one error for the whole round
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

// exchange sends a request and reads the whole response.
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

// answer is the host's response to a request.
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
