package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const nestedManifest = `{"tools":[{"name":"go","inputSchema":{"type":"object","properties":{"who":{"type":"string"},"n":{"type":"integer"}}}}]}`

// passing calls a tool with the params returned by to, and answers with the outcome.
func passing(to func(params json.RawMessage) string) plugin.Func {
	return func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		raw, err := runtime.GateFrom(ctx).Ask(ctx, "tools/call", json.RawMessage(to(params)), nil)
		var ask *runtime.AskError
		if errors.As(err, &ask) {
			return json.Marshal(map[string]string{"kind": string(ask.Kind), "why": ask.Message, "hint": ask.Hint})
		}
		return raw, err
	}
}

// receipts collects the receipts sent to a client.
type receipts struct {
	catalog.Client
	all []receipt.Receipt
}

func (c *receipts) Receipt(r receipt.Receipt) { c.all = append(c.all, r) }

func nestedRegistry(t *testing.T, configs map[string]Config, ask string) *Registry {
	t.Helper()
	log := audit.New(t.TempDir(), audit.Options{})
	t.Cleanup(func() { log.Close() })
	h := hostfuncs.NewHost(&hostfuncs.Options{Audit: log})
	t.Cleanup(h.Close)
	r := open(t, Options{Plugins: configs, Host: h})
	inner := func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		_, err := runtime.GateFrom(ctx).Ask(ctx, "http/fetch", json.RawMessage(`{"url":"http://127.0.0.1:1/me"}`), noStreams{})
		var e *runtime.AskError
		if !errors.As(err, &e) {
			return nil, errors.New("it was allowed to go out")
		}
		return json.Marshal(map[string]string{"inner": string(e.Kind), "why": e.Message})
	}
	for name, serve := range map[string]plugin.Func{"outer": passing(func(json.RawMessage) string { return ask }), "inner": inner} {
		if err := r.AddGo(name, []byte(nestedManifest), serve); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestToolCaller_isUnderBothGrants(t *testing.T) {
	out := grantsOf(t, "net: GET http://127.0.0.1:1/{args.who}")
	for _, tt := range []struct {
		name  string
		outer *grant.Set
		inner *grant.Set
		ask   string
		want  string
	}{
		{"nothing granted", nil, out, `{"name":"inner-go","arguments":{"who":"me"}}`, `"kind":"denied"`},
		{"the callee's own line", grantsOf(t, `tools: {inner-go: {who: "{args.who}"}}`), out, `{"name":"inner-go","arguments":{"who":"me"}}`, `"inner":"unavailable"`},
		{"bound to the nested arguments", grantsOf(t, `tools: inner-go {any: true}`), out, `{"name":"inner-go","arguments":{"who":"you"}}`, `"inner":"denied"`},
		{"another argument", grantsOf(t, `tools: {inner-go: {who: "{args.who}"}}`), out, `{"name":"inner-go","arguments":{"who":"you"}}`, `"kind":"denied"`},
		{"an argument that the line does not name", grantsOf(t, `tools: {inner-go: {who: "{args.who}"}}`), out, `{"name":"inner-go","arguments":{"who":"me","n":1}}`, `"kind":"denied"`},
		{"the caller's grants add nothing", grantsOf(t, `tools: inner-go {any: true}`, "net: GET http://127.0.0.1:1/**"), nil, `{"name":"inner-go","arguments":{"who":"me"}}`, `"inner":"denied"`},
		{"the caller's ceiling", grantsOf(t, `tools: inner-go {any: true}`).Under(grantsOf(t, "tools: inner-go {any: true}")), out, `{"name":"inner-go","arguments":{"who":"me"}}`, "max_grants does not reach it"},
		{"arguments that do not fit", grantsOf(t, `tools: inner-go {any: true}`), out, `{"name":"inner-go","arguments":{"who":7}}`, `"kind":"invalid"`},
		{"twice the same", grantsOf(t, `tools: inner-go {any: true}`), out, `{"name":"inner-go","arguments":{"who":"me","who":"you"}}`, `"kind":"invalid"`},
		{"no such tool", grantsOf(t, `tools: none-go {any: true}`), out, `{"name":"none-go"}`, `there is no tool`},
	} {
		r := nestedRegistry(t, map[string]Config{"outer": {Grants: tt.outer}, "inner": {Grants: tt.inner}}, tt.ask)
		tool, _ := r.Snapshot().Tool("outer-go")
		client := &receipts{}
		raw, err := tool.Call(t.Context(), catalog.Call{Params: json.RawMessage(`{"arguments":{"who":"me"}}`), Client: client})
		if err != nil || !strings.Contains(string(raw), tt.want) {
			t.Errorf("%s: got %s, %v, want %s", tt.name, raw, err, tt.want)
		}
		if strings.Contains(tt.want, "inner") && (len(client.all) != 1 || len(client.all[0].Calls) != 1 || client.all[0].Calls[0].Plugin != "inner") {
			t.Errorf("%s: got receipts %+v, want one with one call of inner", tt.name, client.all)
		}
	}
}

func TestToolCaller_limitsDepth(t *testing.T) {
	r := open(t, Options{Plugins: map[string]Config{"loop": {Grants: grantsOf(t, "tools: loop-go {any: true}")}}})
	calls := 0
	if err := r.AddGo("loop", []byte(nestedManifest), passing(func(json.RawMessage) string {
		calls++
		return fmt.Sprintf(`{"name":"loop-go","arguments":{"n":%d}}`, calls)
	})); err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Snapshot().Tool("loop-go")
	raw, err := tool.Call(t.Context(), catalog.Call{Params: json.RawMessage(`{}`)})
	if err != nil || calls != 9 || !strings.Contains(string(raw), "more than 8 deep") {
		t.Errorf("got %d calls, %s, %v; want 9, an answer that they are more than 8 deep", calls, raw, err)
	}
}

// A tool with readOnlyHint calls one that writes.
func TestToolCaller_readOnlyBindsTheCallee(t *testing.T) {
	h := hostfuncs.NewHost(&hostfuncs.Options{State: t.TempDir()})
	t.Cleanup(h.Close)
	r := open(t, Options{Host: h, Plugins: map[string]Config{
		"outer":  {Grants: grantsOf(t, "tools: middle-go {any: true}")},
		"middle": {Grants: grantsOf(t, "tools: inner-go {any: true}")},
		"inner":  {Grants: grantsOf(t, "net: POST http://127.0.0.1:1/**")},
	}})
	ask := func(method, params string) plugin.Func {
		return func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			_, err := runtime.GateFrom(ctx).Ask(ctx, method, json.RawMessage(params), noStreams{})
			return json.Marshal(fmt.Sprint(err))
		}
	}
	readOnly := strings.Replace(nestedManifest, `"name":"go",`, `"name":"go","annotations":{"readOnlyHint":true},`, 1)
	for _, p := range []struct{ name, manifest, ask string }{{"outer", readOnly, "middle-go"}, {"middle", nestedManifest, "inner-go"}} {
		if err := r.AddGo(p.name, []byte(p.manifest), passing(func(json.RawMessage) string { return `{"name":"` + p.ask + `"}` })); err != nil {
			t.Fatal(err)
		}
	}
	tool := func(name string) string {
		tool, _ := r.Snapshot().Tool(name)
		raw, err := tool.Call(t.Context(), catalog.Call{Params: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if err := r.AddGo("inner", []byte(nestedManifest), ask("http/fetch", `{"method":"POST","url":"http://127.0.0.1:1/me"}`)); err != nil {
		t.Fatal(err)
	}
	const refusal = "says of itself that it changes nothing"
	if got := tool("outer-go"); !strings.Contains(got, refusal) {
		t.Errorf("outer: got %s, want %q in it", got, refusal)
	}
	if got := tool("middle-go"); strings.Contains(got, refusal) {
		t.Errorf("middle: got %s, want no %q in it", got, refusal)
	}
}

// A nested call is in the trace of its caller, with a new parent id that neither plugin can choose.
func TestToolCaller_passesTheTrace(t *testing.T) {
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := open(t, Options{Plugins: map[string]Config{"outer": {Grants: grantsOf(t, "tools: inner-go {any: true}")}}})
	var seen []json.RawMessage
	inner := func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		seen = append(seen, jsonraw.Get(params, "_meta"))
		return json.RawMessage(`{}`), nil
	}
	outer := passing(func(json.RawMessage) string { return `{"name":"inner-go","_meta":{"traceparent":"forged","mine":1}}` })
	if err := errors.Join(r.AddGo("outer", []byte(nestedManifest), outer), r.AddGo("inner", []byte(nestedManifest), inner)); err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Snapshot().Tool("outer-go")
	for _, meta := range []string{`{"traceparent":"` + given + `","tracestate":"a=1","baggage":"b=2","other":1}`, `{"other":1}`} {
		if _, err := tool.Call(t.Context(), catalog.Call{Params: json.RawMessage(`{"_meta":` + meta + `}`), Trace: trace.Read(json.RawMessage(meta))}); err != nil {
			t.Fatal(err)
		}
	}
	parent, _ := jsonraw.String(jsonraw.Get(seen[0], "traceparent"))
	if !strings.HasPrefix(parent, given[:36]) || parent == given || !strings.HasSuffix(string(seen[0]), `,"tracestate":"a=1","baggage":"b=2"}`) {
		t.Errorf("got trace %s, want a child of %s with its state and baggage", seen[0], given)
	}
	if seen[1] != nil {
		t.Errorf("without a trace: got %s, want none", seen[1])
	}
}
