package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// method serves one host function.
type method func(g *Gate, ctx context.Context, params json.RawMessage, s runtime.Streams) (json.RawMessage, error)

// methods returns the table of host functions.
func methods() map[string]method {
	m := map[string]method{
		"notifications/message":                (*Gate).message,
		"notifications/progress":               (*Gate).progressed,
		"notifications/tools/list_changed":     changed("notifications/tools/list_changed"),
		"notifications/prompts/list_changed":   changed("notifications/prompts/list_changed"),
		"notifications/resources/list_changed": changed("notifications/resources/list_changed"),
		"notifications/resources/updated":      changed("notifications/resources/updated"),
		"client/release":                       (*Gate).release,
		"http/fetch":                           (*Gate).fetch,
		"tools/call":                           (*Gate).callTool,
		"secrets/list":                         (*Gate).listSecrets,
		"secrets/get":                          (*Gate).revealSecret,
	}
	for name := range questions() {
		m[name] = asked(name)
	}
	maps.Copy(m, keyMethods())
	return m
}

// Methods returns the names of all host functions, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(methods())) }

// maxMethod limits the part of an unknown method that an error repeats, in bytes.
const maxMethod = 64

// Ask performs a request of the guest. The error is an *AskError, or an *EndError that ends the call: later requests
// then fail. A body that the answer opens as a stream is valid while ctx is.
func (g *Gate) Ask(ctx context.Context, name string, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	if g.ended != nil {
		return nil, g.ended
	}
	serve := g.policy.host.methods[name]
	if serve == nil {
		return nil, askErrorf(runtime.KindUnsupported, "this host has no method %q", cut(name, maxMethod))
	}
	result, err := g.journaled(ctx, name, params, s, serve)
	if g.noteEnd(err); g.ended != nil {
		return nil, g.ended
	}
	if err != nil {
		ask := asAskError(err)
		if l, ok := g.call.Client.(RetryListener); ok && ask.RetryAfterMs > 0 {
			l.RetryAfter(ask.RetryAfterMs)
		}
		return nil, ask
	}
	return result, err
}

// noteEnd records an error that ends the call.
func (g *Gate) noteEnd(err error) {
	var end *runtime.EndError
	if errors.As(err, &end) {
		g.ended = end
	}
}
