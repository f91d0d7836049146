package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// resembling are identities that resemble ann's, and share her groups or scopes.
var resembling = []identity.Identity{
	bob, {Principal: "token:bob", Groups: []string{"ops"}}, {Principal: "token:Ann", Groups: []string{"ops"}}, {Principal: "token:ann2"}, {Principal: "token:an"},
	{Principal: "token:\uff41nn"}, {Principal: "oauth:https://id.example.com|ann"}, {Principal: "ann"}, {Principal: "token:ann\x00"}, {Principal: "token:ann' OR '1'='1"}, {Principal: "%"},
}

// newKeepers returns two replicas of one state folder, each with its own store. The tool keys-do asks the host for
// {ask, params} of its arguments, as its plugin may with keys and values of its own, or with other lines. The tool
// outer-do asks too, and may call keys-do. keys-task is a task.
func newKeepers(t *testing.T, lines ...string) *company {
	t.Helper()
	dir := t.TempDir()
	c := &company{t: t, dir: dir}
	if lines == nil {
		lines = []string{"kv: 1MiB"}
	}
	keys := sealed.Random()
	const tools = `{"name":"keys","tools":[{"name":"do","inputSchema":{"type":"object"}},{"name":"task","execution":{"taskSupport":"required"},"inputSchema":{"type":"object"}}]}`
	for i := range c.replicas {
		kept := storetest.Open(t, storetest.Options(t, dir))
		gates := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: dir})
		t.Cleanup(gates.Close)
		r, err := registry.New(t.Context(), registry.Options{Host: gates})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(context.Background()) })
		for _, name := range []string{"keys", "outer"} {
			if err := r.AddGo(name, json.RawMessage(tools), askHost); err != nil {
				t.Fatal(err)
			}
		}
		c.catalogs[i] = r
		c.allow(i, lines...)
		c.replicas[i] = NewServer(r, &Options{Store: kept, Keys: keys})
		t.Cleanup(func() { c.replicas[i].Close(context.Background()) })
	}
	return c
}

// allow configures the grants of the plugin keys on a replica.
func (c *company) allow(i int, lines ...string) {
	c.t.Helper()
	set := func(lines ...string) *grant.Set {
		s := grant.NewSet()
		for _, line := range lines {
			g, err := grant.ParseLine(line)
			if err != nil {
				c.t.Fatal(err)
			}
			s = s.With(g)
		}
		return s
	}
	err := c.catalogs[i].Configure(map[string]registry.Config{"keys": {Grants: set(lines...)}, "outer": {Grants: set("tools: [keys-do] {any: true}")}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// askHost is a plugin that passes a request of its arguments to its gate, and answers with the response.
func askHost(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	method, _ := jsonraw.String(jsonraw.Get(params, "arguments", "ask"))
	answer, err := runtime.GateFrom(ctx).Ask(ctx, method, jsonraw.Get(params, "arguments", "params"), nil)
	if err != nil {
		answer = textOf(err.Error())
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, textOf(string(answer))), nil
}

// key has a replica do one request for keys, and returns the text of the answer.
func (c *company) key(replica int, id identity.Identity, method, params string) string {
	c.t.Helper()
	got := json.RawMessage(c.ask(replica, id, "tools/call", fmt.Sprintf(`"name":"keys-do","arguments":{"ask":%q,"params":%s},`, method, params), ""))
	content, _ := jsonraw.Elements(jsonraw.Get(got, "result", "content"))
	if len(content) == 0 {
		c.t.Fatalf("%s %s: got %s, want an answer", method, params, got)
	}
	text, _ := jsonraw.String(jsonraw.Get(content[0], "text"))
	return text
}

// Keys and values are a principal's, also of one plugin.
func TestCallers_keysOfAnotherAreNotReached(t *testing.T) {
	c := newKeepers(t)
	c.key(0, ann, "kv/set", `{"key":"k","value":"of ann"}`)
	if got := c.key(1, ann, "kv/get", `{"key":"k"}`); !strings.Contains(got, "of ann") {
		t.Fatalf("got %s, want ann's value on the other replica", got)
	}
	for _, id := range resembling {
		for replica := range c.replicas {
			for _, params := range []string{
				`{"key":"k"}`, `{"key":"k","principal":"token:ann"}`, `{"key":"k","space":{"plugin":"keys","principal":"token:ann"}}`, `{"key":"token:ann/k"}`,
				`{"key":"../token:ann/k"}`, `{"key":"k\u0000"}`, `{"key":"K"}`, `{"key":"k' OR '1'='1"}`, `{"key":"%"}`,
			} {
				if got := c.key(replica, id, "kv/get", params); !strings.Contains(got, `"value":null`) {
					t.Errorf("%q, %s: got %s, want no value", id.Principal, params, got)
				}
			}
			if got := c.key(replica, id, "kv/list", `{"prefix":""}`); strings.Contains(got, `"k"`) {
				t.Errorf("%q: got %s, want no key", id.Principal, got)
			}
			c.key(replica, id, "kv/set", fmt.Sprintf(`{"key":"k","value":"of another on %d"}`, replica))
			c.key(replica, id, "kv/delete", `{"key":"k"}`)
		}
	}
	for replica := range c.replicas {
		if got := c.key(replica, ann, "kv/get", `{"key":"k"}`); !strings.Contains(got, "of ann") {
			t.Errorf("got %s, want ann's value after all attacks", got)
		}
	}
}

// An answer that was too large is read by its caller alone; to others its URI is as an unknown one.
func TestCallers_keptResultOfAnotherIsUnknown(t *testing.T) {
	c := newCompany(t, false)
	reply := fmt.Sprintf(`,"dev.sallyport/maxBytes":600,"reply":{"content":[{"type":"text","text":"%s"}]}`, strings.Repeat("of ann ", 300))
	cut := c.ask(0, ann, "tools/call", `"name":"t-any","arguments":{},`, reply)
	uri := regexp.MustCompile(`sallyport://results/[A-Za-z0-9_-]+`).FindString(cut)
	if uri == "" {
		t.Fatalf("got %s, want the URI of the whole answer", cut)
	}
	unknown := uri[:len(uri)-4] + "AAAA"
	read := func(replica int, id identity.Identity, of string) string {
		got := c.ask(replica, id, "resources/read", fmt.Sprintf(`"uri":%q,`, of), "")
		return strings.NewReplacer(fmt.Sprintf(`"id":%d`, c.n), "", of, "URI").Replace(got)
	}
	for replica := range c.replicas {
		for _, id := range append(resembling, identity.Identity{Principal: "anonymous"}, identity.Identity{}) {
			for _, of := range []string{uri, uri + "?page=1", uri + "#1", uri + "/2", strings.ToUpper(uri)} {
				if got := read(replica, id, of); strings.Contains(got, "of ann") || !strings.Contains(got, `"error"`) {
					t.Errorf("%q, %s: got %s, want an unknown resource", id.Principal, of, got)
				}
			}
			if got, want := read(replica, id, uri), read(replica, id, unknown); got != want {
				t.Errorf("%q: got %s, want %s as for an unknown URI", id.Principal, got, want)
			}
		}
		if got := read(replica, ann, uri); !strings.Contains(got, "of ann") {
			t.Errorf("ann: got %s, want her answer", got)
		}
	}
}

// calledFor is a hostfuncs.Caller that answers each call of a tool.
type calledFor struct{ hostfuncs.Caller }

func (calledFor) CallTool(context.Context, hostfuncs.Nested) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[]}`), nil
}

// An operator's answer is for the principal that the question was about, on all replicas.
func TestCallers_consentOfAnotherIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	line, err := grant.ParseLine("tools: other-do")
	if err != nil {
		t.Fatal(err)
	}
	plugin := hostfuncs.Plugin{Name: "p", Digest: "sha256:1", Wants: []hostfuncs.Want{{Grants: grant.NewSet(line)}}}
	var policies [2]*hostfuncs.Policy
	var kept *store.Store
	for i := range policies {
		kept = storetest.Open(t, storetest.Options(t, dir))
		ahead := time.Duration(0) // each look is later than the last one, so that the answers of other hosts are seen
		gates := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: dir, Operator: consent.New(consent.Options{
			Store: kept, Now: func() time.Time { ahead += time.Second; return time.Now().Add(ahead) }})})
		t.Cleanup(gates.Close)
		gates.SetCaller(calledFor{})
		policies[i] = gates.Plugin(plugin)
	}
	call := func(replica int, id identity.Identity) error {
		g := policies[replica].NewGate(hostfuncs.Call{ID: "c", Principal: id.Principal, Roles: id.Roles(), Method: "tools/call"})
		defer g.Close()
		_, err := g.Ask(t.Context(), "tools/call", json.RawMessage(`{"name":"other-do","arguments":{}}`), nil)
		return err
	}
	if err := call(0, ann); err == nil {
		t.Fatal("got no refusal, want a question about ann")
	}
	questions, err := kept.Questions(t.Context())
	if err != nil || len(questions) != 1 || questions[0].Principal != "token:ann" {
		t.Fatalf("got %+v, %v, want one question about ann", questions, err)
	}
	if _, err := kept.Allow(t.Context(), questions[0].ID, store.Answer{}); err != nil {
		t.Fatal(err)
	}
	for replica := range policies {
		if err := call(replica, ann); err != nil {
			t.Errorf("ann: got %v, want her consent on replica %d", err, replica)
		}
		for _, id := range resembling {
			var refused *runtime.AskError
			if err := call(replica, id); !errors.As(err, &refused) || refused.Kind != runtime.KindDenied {
				t.Errorf("%q: got %v, want a refusal on replica %d", id.Principal, err, replica)
			}
		}
	}
}
