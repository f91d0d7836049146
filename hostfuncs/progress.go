package hostfuncs

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// reportProgress serves notifications/progress {progress, total?, message?}: it goes to the client if its value is
// greater than all before it in this call, else it is dropped. Every plugin may report progress.
func reportProgress(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	value, ok := number(jsonraw.Get(params, "progress"))
	if !ok {
		return nil, askErrorf(runtime.KindInvalid, "progress is a number")
	}
	if len(params) > maxMessage {
		return nil, askErrorf(runtime.KindLimit, "a message is longer than %d bytes", maxMessage)
	}
	err := g.pass(ctx, effect{family: "progress", act: "report progress", leaves: true, do: func(ctx context.Context, _ grant.Decision) error {
		if !g.session.advance(value) {
			return nil
		}
		g.record.count("progress", "", 1, 0, 0)
		if g.call.Client != nil {
			g.call.Client.Progress(ctx, g.Redact(params))
		}
		return nil
	}})
	return json.RawMessage("{}"), err
}

// number parses a JSON number; it rejects a string.
func number(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

func progressFamily() family {
	return family{name: "progress", methods: map[string]method{"notifications/progress": reportProgress}, replay: replaySilent, stays: true}
}
