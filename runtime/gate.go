package runtime

import (
	"context"
	"encoding/json"
	"io"
)

// Gate is the reference monitor of one call: one value checks, records and performs every effect outside the sandbox.
// Each call has its own. hostfuncs.Gate implements it.
type Gate interface {
	// Ask performs a guest request: an MCP method or one of Sallyport's own, with its params as raw JSON (nil if
	// absent). It returns the raw result. A denial or a failure is an *AskError. Bodies cross as streams.
	Ask(ctx context.Context, method string, params json.RawMessage, s Streams) (json.RawMessage, error)
}

// Question is one request of a round.
type Question struct {
	Method string
	Params json.RawMessage // nil if absent
	// Key is the guest's own name for the question, which may be shown to a client; "" if it has none.
	Key string
}

// Answer is the outcome of one Question. An Err that is an *AskError may be returned to the guest; any other error
// ends the call, as an error of Gate.Ask does.
type Answer struct {
	Result json.RawMessage
	Err    error
}

// Rounds is implemented by a Gate that accepts several requests at once, so that a person is prompted once.
type Rounds interface {
	// AskRound performs the questions and returns as many answers, in the same order.
	AskRound(ctx context.Context, round []Question, s Streams) []Answer
}

// Streams holds the byte streams of one call; a dialect implements it.
type Streams interface {
	// Open creates a stream for the guest that reads r, and closes r with the stream or the call.
	Open(r io.ReadCloser) (id uint32, err error)
	// Take ends a stream that the guest wrote and returns its contents, once. The size is in bytes.
	Take(id uint32) (r io.ReadCloser, size int64, err error)
}

type gateKey struct{}

// WithGate returns a context whose host functions act through g.
func WithGate(ctx context.Context, g Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, g)
}

// GateFrom returns the gate of the call that ctx belongs to, or nil outside a call.
func GateFrom(ctx context.Context) Gate {
	if c, ok := ctx.(*callContext); ok {
		return c.gate
	}
	g, _ := ctx.Value(gateKey{}).(Gate)
	return g
}
