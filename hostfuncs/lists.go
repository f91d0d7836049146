package hostfuncs

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// changed serves the notifications that a list or a resource of the plugin changed. The caller decides which are
// published. A plugin can report only its own.
func changed(name string) method {
	return func(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
		if g.call.Changed == nil {
			return nil, askErrorf(runtime.KindUnsupported, "%s is not taken here", name)
		}
		if len(params) > maxMessage {
			return nil, askErrorf(runtime.KindLimit, "a message is longer than %d bytes", maxMessage)
		}
		err := g.pass(ctx, effect{family: "lists", act: "tell of a change", target: name,
			do: func(context.Context, grant.Decision) error {
				g.call.Changed(name, params)
				return nil
			}})
		return json.RawMessage("{}"), err
	}
}

func listFamily() family {
	f := family{name: "lists", methods: map[string]method{}, replay: replaySilent, stays: true}
	for _, name := range []string{
		"notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated",
	} {
		f.methods[name] = changed(name)
	}
	return f
}
