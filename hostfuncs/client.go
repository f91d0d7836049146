package hostfuncs

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Releaser is met by a Client whose connection can be given back while the call goes on.
type Releaser interface {
	// Release ends the connection that waits for this call, if the client can come back for the answer.
	Release()
}

// release serves client/release: a call that takes long gives its client's connection back. Where the
// client could not come back for the answer nothing happens. It is given to every plugin.
func (g *Gate) release(ctx context.Context, _ json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	err := g.pass(ctx, effect{family: "client", act: "give the connection back",
		do: func(context.Context, grant.Decision) error {
			if r, ok := g.call.Client.(Releaser); ok {
				r.Release()
			}
			return nil
		}})
	return json.RawMessage("{}"), err
}
