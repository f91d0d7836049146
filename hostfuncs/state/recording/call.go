package recording

import (
	"encoding/json"
	"time"
)

// MaxCall limits a call with all of its exchanges, in bytes. A larger one is not kept.
const MaxCall = 1 << 20

// MaxExchanges limits the exchanges of a call.
const MaxExchanges = 4096

// Call is one call of a plugin, as performed or as tried. It has a field for each part of the request, so that the
// call can be made again, and for its end.
type Call struct {
	Plugin    string          `json:"plugin"`
	Digest    string          `json:"digest"` // of the bytes that served it
	Time      time.Time       `json:"time"`
	Principal string          `json:"principal"`
	Method    string          `json:"method"` // such as tools/call
	Kind      string          `json:"kind"`   // of the entry: tool, prompt, resource or template
	Entry     string          `json:"entry"`  // local name
	Params    json.RawMessage `json:"params,omitempty"`
	// Clock is a journal without entries: the beginning of the call and its random numbers.
	Clock     []byte     `json:"clock,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"`
	Files     []File     `json:"files,omitempty"` // that the call read as a whole

	Answer json.RawMessage `json:"answer,omitempty"`
	Failed string          `json:"failed,omitempty"` // why there is no answer, in a sentence
}

// File is a file with its contents when the call read it.
type File struct {
	Path    string `json:"path"` // of the guest
	Act     string `json:"act"`  // as in a denial: "read ~/notes/a"
	Content []byte `json:"content,omitempty"`
}

// Exchange is one effect of a call, with the host's answer.
type Exchange struct {
	Family  string   `json:"family"`
	Act     string   `json:"act"`               // as in a denial: "GET https://a.example/x"
	Request []byte   `json:"request,omitempty"` // of effects with arguments besides the act
	Outcome []byte   `json:"outcome,omitempty"` // as in a journal; nil if it is not kept
	Secrets []string `json:"secrets,omitempty"` // names of those that the host inserts
	Denied  bool     `json:"denied,omitempty"`  // the grants did not allow it
	At      int64    `json:"at,omitempty"`      // clock of the call after it, in nanoseconds
}

// Size returns the bytes that an exchange counts for MaxCall.
func (x *Exchange) Size() int {
	return len(x.Family) + len(x.Act) + len(x.Request) + len(x.Outcome) + 64
}
