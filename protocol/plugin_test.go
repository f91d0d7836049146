package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// newCatalog returns a registry with the plugin t, which follows the directives in the _meta of a request.
func newCatalog(t testing.TB, serve plugin.Func) *registry.Registry {
	t.Helper()
	r, err := registry.New(t.Context(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("testdata/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddGo("t", manifest, serve); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func addTools(t testing.TB, r *registry.Registry, serve plugin.Func, plugin string, tools []string) {
	t.Helper()
	var list []json.RawMessage
	for _, name := range tools {
		list = append(list, json.RawMessage(`{"name":"`+name+`","description":"added","inputSchema":{"type":"object"}}`))
	}
	manifest := jsonraw.Object{{Key: "name", Value: textOf(plugin)}, {Key: "tools", Value: jsonraw.Array(list)}}.Append(nil)
	if err := r.AddGo(plugin, manifest, serve); err != nil {
		t.Fatal(err)
	}
}

func textOf(s string) json.RawMessage { return jsonraw.AppendString(nil, s) }

// obey implements a plugin that follows the directives in params._meta:
//
//	"notify": [[method, params], …]  sends these first; ["through the gate", [method, params]] as a guest does
//	"wait": milliseconds             then waits, until cancelled at most
//	"ask": [[question, …], …]        asks these rounds, and returns the answers
//	"reply": value                   returns this value
//	"replyText": string              returns these bytes
//	"fail": {kind, message}          fails; {"code": n} is a JSON-RPC error, {"panic": true} a host panic
//
// Without directives it returns its request.
func (p *player) obey(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	meta := jsonraw.Get(params, "_meta")
	notes, _ := jsonraw.Elements(jsonraw.Get(meta, "notify"))
	for _, n := range notes {
		p.tell(ctx, meta, n)
	}
	if ms, err := strconv.Atoi(string(jsonraw.Get(meta, "wait"))); err == nil {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
			return nil, &runtime.EndError{Kind: runtime.KindCancelled, Message: "cancelled", Err: ctx.Err()}
		}
	}
	if rounds, _ := jsonraw.Elements(jsonraw.Get(meta, "ask")); rounds != nil {
		return p.ask(ctx, method, rounds)
	}
	if text, ok := jsonraw.String(jsonraw.Get(meta, "replyText")); ok {
		return json.RawMessage(text), nil
	}
	if fail := jsonraw.Get(meta, "fail"); fail != nil {
		return nil, failureOf(fail)
	}
	if reply := jsonraw.Get(meta, "reply"); reply != nil {
		return bytes.Clone(reply), nil
	}
	return said(method, params), nil
}

// tell sends one notification of a call, as the gate would.
func (p *player) tell(ctx context.Context, meta, note json.RawMessage) {
	pair, _ := jsonraw.Elements(note)
	switch name, _ := jsonraw.String(pair[0]); name {
	case "notifications/progress":
		p.client(meta).Progress(ctx, pair[1])
	case "notifications/message":
		p.client(meta).Message(ctx, pair[1])
	case "through the gate":
		pair, _ := jsonraw.Elements(pair[1])
		method, _ := jsonraw.String(pair[0])
		if _, err := runtime.GateFrom(ctx).Ask(ctx, method, pair[1], nil); err != nil {
			p.t.Errorf("%s: %v", method, err)
		}
	case "denied":
		message, _ := jsonraw.String(pair[1])
		p.client(meta).(interface{ Denied(*runtime.AskError) }).Denied(&runtime.AskError{Kind: runtime.KindDenied, Message: message, Hint: "net: GET https://example.com/"})
	default:
		if _, err := runtime.GateFrom(ctx).Ask(ctx, name, pair[1], nil); err != nil {
			p.t.Errorf("%s: %v", name, err)
		}
	}
}

// ask asks rounds of questions, as an ABI would.
func (p *player) ask(ctx context.Context, method string, rounds []json.RawMessage) (json.RawMessage, error) {
	var told []string
	for _, raw := range rounds {
		var round []runtime.Question
		if err := json.Unmarshal(raw, &round); err != nil {
			p.t.Error(err)
		}
		for _, a := range runtime.GateFrom(ctx).(runtime.Rounds).AskRound(ctx, round, nil) {
			var refused *runtime.AskError
			switch {
			case errors.As(a.Err, &refused) && refused.Requires != nil && len(round) == 1:
				return nil, &runtime.GuestError{Code: -1, Message: refused.Message,
					Data: jsonraw.Object{{Key: "requiredCapabilities", Value: refused.Requires}}.Append(nil)}
			case errors.As(a.Err, &refused):
				told = append(told, refused.Error())
			case a.Err != nil:
				return nil, a.Err
			default:
				told = append(told, string(a.Result))
			}
		}
	}
	return said(method, json.RawMessage(`{"uri":"test://a","arguments":`+string(textOf(strings.Join(told, " / ")))+`}`)), nil
}

// client finds the request with this _meta, as in-process plugins have no gate.
func (p *player) client(meta json.RawMessage) catalog.Client {
	p.conn.requests.mu.Lock()
	defer p.conn.requests.mu.Unlock()
	for _, r := range p.conn.requests.byID {
		if bytes.Equal(jsonraw.Get(r.call.Params, "_meta"), meta) {
			return r
		}
	}
	p.t.Errorf("no request has the _meta %s", meta)
	return &request{}
}

func failureOf(fail json.RawMessage) error {
	message, _ := jsonraw.String(jsonraw.Get(fail, "message"))
	if code, err := strconv.Atoi(string(jsonraw.Get(fail, "code"))); err == nil {
		return &runtime.GuestError{Code: code, Message: message, Data: jsonraw.Get(fail, "data")}
	}
	kind, _ := jsonraw.String(jsonraw.Get(fail, "kind"))
	switch kind {
	case "panic":
		panic("a bug")
	case "bug":
		return errors.New("secret detail")
	case "denied":
		ask := &runtime.AskError{Kind: runtime.KindDenied, Message: message, Hint: "net: GET https://example.com/"}
		return &runtime.EndError{Kind: ask.Kind, Message: ask.Message, Err: ask}
	}
	return &runtime.EndError{Kind: runtime.Kind(kind), Message: message, Stack: "secret stack"}
}

// said returns the request in the result shape of each method.
func said(method string, params json.RawMessage) json.RawMessage {
	asked := textOf(string(jsonraw.Get(params, "arguments")))
	switch method {
	case "tools/call":
		return json.RawMessage(`{"content":[{"type":"text","text":` + string(asked) + `}]}`)
	case "prompts/get":
		return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":` + string(asked) + `}}]}`)
	case "resources/read":
		return json.RawMessage(`{"contents":[{"uri":` + string(jsonraw.Get(params, "uri")) + `,"text":"hello"}]}`)
	}
	return json.RawMessage(`{"completion":{"values":["` + strings.Repeat(`x","`, 120) + `y"]}}`)
}

// logTo returns a logger that writes to w.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
