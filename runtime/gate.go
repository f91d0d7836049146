package runtime

import (
	"context"
	"encoding/json"
	"io"
)

// Gate is all that one call may ask of the world outside its sandbox. Each call has its own, and
// one value checks, records and performs every effect; hostfuncs.Gate is the implementation.
type Gate interface {
	// Ask performs what the guest asked for: an MCP method or one of Sallyport's own, with its
	// params as raw JSON (nil if absent), and returns the raw result. A refusal or a failure is an
	// *AskError. Bodies cross as streams.
	Ask(ctx context.Context, method string, params json.RawMessage, s Streams) (json.RawMessage, error)
}

// Question is one request of a round.
type Question struct {
	Method string
	Params json.RawMessage // nil if absent
	// Key is the guest's own name for it, which a client may get to see; "" if it has none.
	Key string
}

// Answer is what became of one Question. Err is an *AskError that the guest may be told, or else ends
// the call, as an error of Gate.Ask does.
type Answer struct {
	Result json.RawMessage
	Err    error
}

// Rounds is met by a Gate that can be asked for several things at once, so that a person is asked once.
type Rounds interface {
	// AskRound performs the questions and returns as many answers, in the same order.
	AskRound(ctx context.Context, round []Question, s Streams) []Answer
}

// Streams are the byte streams of one call; a dialect implements them.
type Streams interface {
	// Open gives the guest a stream that reads r, and closes r with the stream or the call.
	Open(r io.ReadCloser) (id uint32, err error)
	// Take ends a stream that the guest wrote and returns what it holds, once. Size is in bytes.
	Take(id uint32) (r io.ReadCloser, size int64, err error)
}

type gateKey struct{}

// WithGate returns a context whose host functions act through g.
func WithGate(ctx context.Context, g Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, g)
}

// GateFrom returns the gate of the call that ctx belongs to, nil outside a call.
func GateFrom(ctx context.Context) Gate {
	if c, ok := ctx.(*callContext); ok {
		return c.gate
	}
	g, _ := ctx.Value(gateKey{}).(Gate)
	return g
}
