package hostfuncs

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// method serves one host function.
type method func(ctx context.Context, g *Gate, params json.RawMessage, s runtime.Streams) (json.RawMessage, error)

// methods returns the table of host functions.
func methods() map[string]method {
	m := map[string]method{
		"notifications/message":                logMessage,
		"notifications/progress":               reportProgress,
		"notifications/tools/list_changed":     changed("notifications/tools/list_changed"),
		"notifications/prompts/list_changed":   changed("notifications/prompts/list_changed"),
		"notifications/resources/list_changed": changed("notifications/resources/list_changed"),
		"notifications/resources/updated":      changed("notifications/resources/updated"),
		"client/release":                       releaseClient,
		"http/fetch":                           fetch,
		"tools/call":                           callTool,
		"secrets/list":                         listSecrets,
		"secrets/get":                          revealSecret,
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
	if g.life.ended != nil {
		return nil, g.life.ended
	}
	serve := g.policy.host.methods[name]
	if serve == nil {
		return nil, askErrorf(runtime.KindUnsupported, "this host has no method %q", cut(name, maxMethod))
	}
	result, err := journaled(ctx, g, name, params, s, serve)
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

// journaled performs a request, or replays its recorded answer.
func journaled(ctx context.Context, g *Gate, name string, params json.RawMessage, s runtime.Streams, serve method) (json.RawMessage, error) {
	j := g.replay.journal
	if _, client := g.policy.host.questions[name]; j == nil || client { // questions are journaled per round
		return serve(ctx, g, params, s)
	}
	if strings.HasPrefix(name, "notifications/") {
		if j.Replaying() { // already sent in an earlier run
			return json.RawMessage("{}"), nil
		}
		return serve(ctx, g, params, s)
	}
	if name == "secrets/get" { // the value is read again, never journaled
		return serve(ctx, g, params, s)
	}
	if strings.HasPrefix(name, "kv/") {
		result, err := serve(ctx, g, params, s)
		j.Observe([]byte(name), params, encodeAnswers([]runtime.Answer{{Result: result, Err: err}}))
		return result, err
	}
	if name == "http/fetch" {
		return journaledFetch(ctx, g, params, s)
	}
	outcome, replay, err := j.Next(name, params)
	switch {
	case err != nil:
		return nil, g.replay.diverged(err)
	case replay && len(outcome) > 0 && outcome[0] == keptWrote:
		return nil, lostWrites()
	case replay:
		a := decodeAnswers(outcome, 1)[0]
		return a.Result, a.Err
	}
	if name == "tools/call" {
		called, _ := jsonraw.String(jsonraw.Get(params, "name"))
		if err := g.replay.begin(ctx, "the call of "+cut(called, maxMethod), name, params); err != nil {
			return nil, err
		}
	}
	result, err := serve(ctx, g, params, s)
	if !g.replay.unknown(ctx, err) {
		outcome := encodeAnswers([]runtime.Answer{{Result: result, Err: err}})
		if name == "tools/call" && g.writes.calleesWrote() {
			outcome = []byte{keptWrote}
		}
		j.Record(outcome, name, params)
	}
	return result, err
}
