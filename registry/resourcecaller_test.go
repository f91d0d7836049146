package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const notesManifest = `{"resources":[{"uri":"memo://notes/1","name":"one"}],"resourceTemplates":[{"uriTemplate":"memo://notes/{id}","name":"any"}]}`

// reading reads the resource that its argument uri names, and answers with the outcome.
func reading(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	uri := jsonraw.Get(params, "arguments", "uri")
	if uri == nil { // it is read itself
		uri = jsonraw.Get(params, "uri")
	}
	raw, err := runtime.GateFrom(ctx).Ask(ctx, "resources/read", jsonraw.Object{{Key: "uri", Value: uri}}.Append(nil), noStreams{})
	var ask *runtime.AskError
	if errors.As(err, &ask) {
		return json.Marshal(map[string]string{"kind": string(ask.Kind), "why": ask.Message, "hint": ask.Hint})
	}
	return raw, err
}

// giveUp is the key of the caller's cancellation.
type giveUp struct{}

// notes answers with a note, or misbehaves as its URI says.
func notes(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	uri, _ := jsonraw.String(jsonraw.Get(params, "uri"))
	switch uri {
	case "memo://notes/huge":
		return json.Marshal(strings.Repeat("x", runtime.MaxReply))
	case "memo://notes/fails":
		return nil, &runtime.GuestError{Code: -32002, Message: "there is no such note"}
	case "memo://notes/posts":
		_, err := runtime.GateFrom(ctx).Ask(ctx, "http/fetch", json.RawMessage(`{"method":"POST","url":"http://127.0.0.1:1/"}`), noStreams{})
		return nil, err
	case "memo://notes/slow":
		ctx.Value(giveUp{}).(context.CancelFunc)()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return json.Marshal(map[string]any{"contents": []any{map[string]string{"uri": uri, "text": "note"}}})
}

// readers opens a registry with a plugin that reads resources, and one that publishes them.
func readers(t *testing.T, annotations string, reads, publishes *grant.Set) *Registry {
	t.Helper()
	h := hostfuncs.NewHost(&hostfuncs.Options{State: t.TempDir()})
	t.Cleanup(h.Close)
	r := open(t, Options{Host: h, Plugins: map[string]Config{"reader": {Grants: reads}, "notes": {Grants: publishes}}})
	reader := `{"tools":[{"name":"go",` + annotations + `"inputSchema":{"type":"object","properties":{"uri":{"type":"string"},"id":{"type":"string"}}}}],
		"resources":[{"uri":"loop://self","name":"self"}]}`
	for name, p := range map[string]struct {
		manifest string
		serve    plugin.Func
	}{"reader": {reader, reading}, "notes": {notesManifest, notes}} {
		if err := r.AddGo(name, []byte(p.manifest), p.serve); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func readBy(ctx context.Context, t *testing.T, r *Registry, arguments string) string {
	t.Helper()
	tool, _ := r.Snapshot().Tool("reader-go")
	raw, err := tool.Call(ctx, catalog.Call{Params: json.RawMessage(`{"arguments":` + arguments + `}`)})
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func TestReadResource_isGrantedByPluginAndURI(t *testing.T) {
	const all = `resources: {notes: "memo://**", reader: "loop://self"}`
	for _, tt := range []struct{ line, arguments, want string }{
		{"", `{"uri":"memo://notes/1"}`, `may not read the resource memo://notes/1 of notes: no grant allows it`},
		{"", `{"uri":"memo://none/1"}`, `may not read the resource memo://none/1: no grant allows it`},
		{"tools: [notes-go, reader-go]", `{"uri":"memo://notes/1"}`, "no grant allows it"},
		{all, `{"uri":"memo://notes/1"}`, `"text":"note"`},
		{all, `{"uri":"memo://notes/2"}`, `"uri":"memo://notes/2"`},
		{all, `{"uri":"memo://none/1"}`, `there is no resource \"memo://none/1\"`},
		{`resources: {other: "memo://**"}`, `{"uri":"memo://notes/1"}`, "no grant allows it"},
		{`resources: {notes: "memo://notes/{args.id}"}`, `{"uri":"memo://notes/2","id":"2"}`, `"text":"note"`},
		{`resources: {notes: "memo://notes/{args.id}"}`, `{"uri":"memo://notes/2","id":"1"}`, "no grant allows it"},
		{all, `{"uri":"memo://notes/fails"}`, "the resource memo://notes/fails answers with error -32002: there is no such note"},
		{all, `{"uri":"memo://notes/huge"}`, "a plugin can be given"},
		{all, `{"uri":"memo://notes/posts"}`, `plugin \"notes\" may not POST http://127.0.0.1:1/: no grant allows it`},
		{all, `{"uri":"memo://notes/1 of notes"}`, "uri is the URI of a resource"},
		{all, `{"uri":7}`, "uri is the URI of a resource"},
		{all, `{}`, "uri is the URI of a resource"},
		{all, `{"uri":"memo:` + strings.Repeat("/x", 8<<10) + `"}`, "of at most 8192 bytes"},
		{all, `{"uri":"loop://self"}`, "calls within calls are more than 8 deep"},
	} {
		var lines []string
		if tt.line != "" {
			lines = []string{tt.line}
		}
		r := readers(t, "", grantsOf(t, lines...), nil)
		if got := readBy(t.Context(), t, r, tt.arguments); !strings.Contains(got, tt.want) {
			t.Errorf("%s %.80s: got %.300s, want %s", tt.line, tt.arguments, got, tt.want)
		}
	}
}

func TestReadResource_bindsThePublisherAndEndsWithItsCall(t *testing.T) {
	all := grantsOf(t, `resources: {notes: "memo://**"}`)
	post := grantsOf(t, "net: POST http://127.0.0.1:1/")
	if got := readBy(t.Context(), t, readers(t, "", all, post), `{"uri":"memo://notes/posts"}`); !strings.Contains(got, `"kind":"unavailable"`) {
		t.Errorf("got %s, want a request under the publisher's own line", got)
	}
	readOnly := `"annotations":{"readOnlyHint":true},`
	if got := readBy(t.Context(), t, readers(t, readOnly, all, post), `{"uri":"memo://notes/posts"}`); !strings.Contains(got, "says of itself that it changes nothing") {
		t.Errorf("a tool that only reads: got %s, want a refusal", got)
	}
	ceiling := all.Under(grantsOf(t, `resources: {notes: "memo://**"}`))
	if got := readBy(t.Context(), t, readers(t, "", ceiling, post), `{"uri":"memo://notes/posts"}`); !strings.Contains(got, "max_grants does not reach it") {
		t.Errorf("the ceiling of the reader: got %s, want a refusal", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ctx = context.WithValue(ctx, giveUp{}, cancel)
	if got := readBy(ctx, t, readers(t, "", all, nil), `{"uri":"memo://notes/slow"}`); !strings.Contains(got, "cancelled") {
		t.Errorf("cancelled within the read: got %s, want the end of the call", got)
	}
}

// A plugin reads for its caller: it reaches no resource that the caller may not read, and learns nothing of it.
func TestReadResource_hiddenResourceIsAsAnUnknownOne(t *testing.T) {
	all := grantsOf(t, `resources: {notes: "memo://**"}`)
	r := readers(t, "", all, nil)
	who, err := identity.ParseWho([]string{"group:ops"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Configure(map[string]Config{"reader": {Grants: all}, "notes": {Callers: []catalog.CallerRule{{Who: who, Only: []string{"memo://notes/1"}}}}}); err != nil {
		t.Fatal(err)
	}
	read := func(uri string, groups ...string) string {
		n := hostfuncs.Nested{URI: uri, Principal: "token:ann", Roles: identity.Roles{Groups: groups}}
		c := toolCaller{r.public}
		n.Plugin = c.Publisher(n)
		raw, err := c.ReadResource(t.Context(), n)
		if err != nil {
			return n.Plugin + ": " + err.Error()
		}
		return n.Plugin + ": " + string(raw)
	}
	if got := read("memo://notes/1", "ops"); got != `notes: {"contents":[{"text":"note","uri":"memo://notes/1"}]}` {
		t.Errorf("ops: got %s, want the note", got)
	}
	for uri, groups := range map[string][]string{"memo://notes/1": {"dev"}, "memo://notes/2": {"ops"}, "memo://none": {"ops"}} {
		if got := read(uri, groups...); got != `: invalid: there is no resource "`+uri+`"` {
			t.Errorf("%s of %v: got %s, want no such resource", uri, groups, got)
		}
	}
	n := hostfuncs.Nested{URI: "memo://notes/1", Plugin: "reader", Principal: "token:ann", Roles: identity.Roles{Groups: []string{"ops"}}}
	if _, err := (toolCaller{r.public}).ReadResource(t.Context(), n); err == nil {
		t.Error("a resource of another plugin than the one that was decided on: got no error")
	}
}
