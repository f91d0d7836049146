package hostfuncs

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Releaser is implemented by a Client that can release its connection while the call goes on.
type Releaser interface {
	// Release ends the connection that waits for this call, if the client can return for the answer.
	Release()
}

// releaseClient serves client/release: a long call releases its client's connection. It does nothing if the client cannot
// return for the answer. Every plugin may use it.
func releaseClient(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	result := json.RawMessage("{}")
	err := g.pass(ctx, effect{family: "client", act: "give the connection back", entry: answerEntry("client/release", params, &result),
		do: func(context.Context, grant.Decision) error {
			if r, ok := g.call.Client.(Releaser); ok {
				r.Release()
			}
			return nil
		}})
	return result, err
}

func clientFamily() family {
	return family{name: "client", methods: map[string]method{"client/release": releaseClient}, replay: replayRecorded, stays: true}
}
