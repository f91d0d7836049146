package hostfuncs

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// method serves one host function.
type method func(ctx context.Context, g *Gate, params json.RawMessage, s runtime.Streams) (json.RawMessage, error)

// maxMethod limits the part of an unknown method that an error repeats, in bytes.
const maxMethod = 64

// Ask performs a request of the guest. The error is an *AskError, or an *EndError that ends the call: later requests
// then fail. A body that the answer opens as a stream is valid while ctx is.
func (g *Gate) Ask(ctx context.Context, name string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	if g.life.ended != nil {
		return nil, g.life.ended
	}
	if g.startsProgram() {
		runtime.Abort(errAsksAtStart)
	}
	if g.policy.plugin.alone {
		return g.unasked(name)
	}
	serve := g.policy.host.effects.methods[name]
	if serve == nil {
		return nil, askErrorf(runtime.KindUnsupported, "this host has no method %q", cut(name, maxMethod))
	}
	result, err := serve(ctx, g, params, s)
	if g.life.noteEnd(err); g.life.ended != nil {
		return nil, g.life.ended
	}
	if err != nil {
		ask := asAskError(err)
		g.session.retryAfter(ask.RetryAfterMs)
		return nil, ask
	}
	return result, err
}
