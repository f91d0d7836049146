package hostfuncs

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// prepareSampling prepares sampling/createMessage {messages, maxTokens, …}. The grant limits the requests of one
// call, and the sum of their maxTokens.
func prepareSampling(g *Gate, params json.RawMessage) (json.RawMessage, effect, error) {
	o, err := questionParams(g, params, "messages", "maxTokens", "systemPrompt", "modelPreferences", "includeContext",
		"temperature", "stopSequences", "metadata", "tools", "toolChoice")
	if err != nil {
		return nil, effect{}, err
	}
	messages := o.Get("messages")
	if s := jsonraw.ScanArray(messages); len(messages) == 0 || messages[0] != '[' || !s.Next() {
		return nil, effect{}, askErrorf(runtime.KindInvalid, "a sampling request needs messages")
	}
	o.Set("messages", untrusted.CleanMeta(messages))
	tokens, err := strconv.ParseInt(string(o.Get("maxTokens")), 10, 32)
	if err != nil || tokens <= 0 {
		return nil, effect{}, askErrorf(runtime.KindInvalid, "maxTokens is a whole number above zero")
	}
	if prompt, ok := jsonraw.String(o.Get("systemPrompt")); ok {
		o.Set("systemPrompt", jsonraw.AppendString(nil, author(g.policy.plugin.Name).asks(prompt, asWritten)))
	}
	o.Set("_meta", jsonraw.Object{{Key: "dev.sallyport/plugin", Value: jsonraw.AppendString(nil, g.policy.plugin.Name)}}.Append(nil))
	return o.Append(nil), effect{
		family: "sampling", act: "ask the client's model", decide: given(grant.Sampling),
		do: func(_ context.Context, d grant.Decision) error { return g.session.model.spend(d, int(tokens)) },
	}, nil
}

// acceptSampling requires {role, content, model}; content is one block or a list.
func acceptSampling(_, answer json.RawMessage) (json.RawMessage, error) {
	content := jsonraw.Get(answer, "content")
	if role, _ := jsonraw.String(jsonraw.Get(answer, "role")); role != "assistant" && role != "user" {
		return nil, badAnswer("has no role")
	}
	if len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return nil, badAnswer("has no content")
	}
	return answered(answer, "role", "content", "model", "stopReason", "_meta")
}

func samplingFamily() family {
	return family{
		name: "sampling", acts: []string{"ask the client's model"},
		explain:    plain("sampling", given(grant.Sampling), "ask the client's model"),
		questions:  map[string]question{"sampling/createMessage": {prepareSampling, acceptSampling}},
		asksClient: true,
	}
}
