package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// company is two replicas with one store. The plugin t belongs to the group ops, and its tool any to scope read as well.
type company struct {
	t        *testing.T
	replicas [2]*Server
	catalogs [2]*registry.Registry
	dir      string // the state folder; "" if there is none
	n        int
}

func newCompany(t *testing.T, search bool) *company {
	t.Helper()
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	keys := sealed.Random()
	c := &company{t: t}
	for i := range c.replicas {
		p := &player{t: t}
		c.catalogs[i] = newCatalog(t, p.obey)
		addTools(t, c.catalogs[i], p.obey, "open", []string{"hello"})
		tasks, err := os.ReadFile("testdata/tasks.json")
		if err == nil {
			err = c.catalogs[i].AddGo("jobs", tasks, p.obey)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.configure(i, rule(t, nil, "group:ops"), rule(t, []string{"any"}, "scope:read"))
		s := NewServer(c.catalogs[i], &Options{Keys: keys, Store: kept, Search: search})
		t.Cleanup(func() { s.Close(context.Background()) })
		c.replicas[i] = s
	}
	return c
}

func rule(t *testing.T, only []string, names ...string) catalog.CallerRule {
	t.Helper()
	who, err := identity.ParseWho(names)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.CallerRule{Who: who, Only: only}
}

func (c *company) configure(i int, rules ...catalog.CallerRule) {
	c.t.Helper()
	roots, err := grant.ParseLine("roots")
	if err != nil {
		c.t.Fatal(err)
	}
	asks := grant.NewSet(roots)
	if err := c.catalogs[i].Configure(map[string]registry.Config{"t": {Callers: rules, Grants: asks}, "jobs": {Grants: asks}}); err != nil {
		c.t.Fatal(err)
	}
}

var (
	ann = identity.Identity{Principal: "token:ann", Groups: []string{"ops"}}
	bob = identity.Identity{Principal: "token:bob"}
)

// ask sends one modern request to a replica. more is added to _meta.
func (c *company) ask(replica int, id identity.Identity, method, params, more string) string {
	c.t.Helper()
	return string(c.respond(replica, id, method, params, more).Body)
}

// respond is ask with the whole response.
func (c *company) respond(replica int, id identity.Identity, method, params, more string) Response {
	c.t.Helper()
	conn := c.replicas[replica].Connect(ConnOptions{Principal: id.Principal, Roles: id.Roles()})
	defer conn.Close()
	c.n++
	meta := strings.Replace(askableMeta, `"roots":{}`, `"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}`, 1)
	return handle(c.t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{%s%s}}}`, c.n, method, params, meta, more))
}

// Names of another's things are as unknown names, on the same replica and on another one: the answers differ in the id
// of the request only.
func TestCallers_hiddenEntryIsAsAnUnknownOne(t *testing.T) {
	for _, search := range []bool{false, true} {
		c := newCompany(t, search)
		for name, attack := range map[string]struct {
			method, params, hidden, unknown string
		}{
			"call":                    {"tools/call", `"name":"%s","arguments":{},`, "t-sum", "t-xyz"},
			"call as a task":          {"tools/call", `"name":"%s","arguments":{},"task":{},`, "t-sum", "t-xyz"},
			"call with bad arguments": {"tools/call", `"name":"%s","arguments":{"a":"x"},`, "t-sum", "t-xyz"},
			"call of another's scope": {"tools/call", `"name":"%s","arguments":{},`, "t-any", "t-yyy"},
			"call by search":          {"tools/call", `"name":"sallyport-call","arguments":{"name":"%s","arguments":{}},`, "t-sum", "t-xyz"},
			"prompt":                  {"prompts/get", `"name":"%s",`, "t-plain", "t-xyzab"},
			"completion of a prompt":  {"completion/complete", `"ref":{"type":"ref/prompt","name":"%s"},"argument":{"name":"who","value":""},`, "t-args", "t-xyza"},
			"completion of a URI":     {"completion/complete", `"ref":{"type":"ref/resource","uri":"%s"},"argument":{"name":"id","value":""},`, "test://item/{id}", "test://xyza/{id}"},
			"resource":                {"resources/read", `"uri":"%s",`, "test://text", "test://xyza"},
			"resource by template":    {"resources/read", `"uri":"%s",`, "test://item/7", "test://xyza/7"},
			"listener":                {"subscriptions/listen", `"notifications":7,"x":"%s",`, "test://text", "test://xyza"},
		} {
			ask := func(replica int, word string) string {
				got := c.ask(replica, bob, attack.method, fmt.Sprintf(attack.params, word), "")
				return strings.NewReplacer(fmt.Sprintf(`"id":%d`, c.n), "", word, "NAME").Replace(got)
			}
			for replica := range c.replicas {
				if got, want := ask(replica, attack.hidden), ask(replica, attack.unknown); got != want {
					t.Errorf("%s, search %v: got %s, want %s as for an unknown name", name, search, got, want)
				}
			}
		}
	}
}

// Identities that resemble ann's see none of her entries: by list, by search, by call.
func TestCallers_noOtherIdentitySeesTheEntries(t *testing.T) {
	listed, searched := newCompany(t, false), newCompany(t, true)
	for name, id := range map[string]identity.Identity{
		"nobody":               {},
		"anonymous":            {Principal: "anonymous"},
		"another":              bob,
		"ann without her role": {Principal: "token:ann"},
		"case of the name":     {Principal: "token:Ann", Groups: []string{"Ops"}},
		"case of the group":    {Principal: "token:ann", Groups: []string{"OPS"}},
		"full width":           {Principal: "token:ann", Groups: []string{"ｏｐｓ"}},
		"combining mark":       {Principal: "token:ann", Groups: []string{"ops\u0301"}},
		"invisible":            {Principal: "token:ann", Groups: []string{"o\u200bps"}},
		"separator":            {Principal: "token:ann", Groups: []string{"ops,dev", "dev ops", "group:ops", "ops/", "ops\x00"}},
		"group as a scope":     {Principal: "token:bob", Scopes: []string{"ops", "group:ops"}},
		"group as a principal": {Principal: "group:ops"},
		"scope as a group":     {Principal: "token:bob", Groups: []string{"read", "scope:read"}},
		"the word all":         {Principal: "all", Groups: []string{"all"}, Scopes: []string{"all"}},
	} {
		for _, more := range []string{"", `,"principal":"token:ann","groups":["ops"],"dev.sallyport/principal":"token:ann","roles":{"groups":["ops"]}`} {
			for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
				if got := listed.ask(0, id, method, "", more); strings.Contains(got, "t-") || strings.Contains(got, "test://") || !strings.Contains(got, `"result"`) {
					t.Errorf("%s: %s: got %s, want no entry of t", name, method, got)
				}
			}
			if got := searched.ask(1, id, "tools/call", `"name":"sallyport-search","arguments":{"query":"takes anything integers"},`, more); strings.Contains(got, "t-") {
				t.Errorf("%s: search: got %s, want no entry of t", name, got)
			}
			if got := listed.ask(1, id, "tools/call", `"name":"t-any","arguments":{},`, more); !strings.Contains(got, "unknown tool") {
				t.Errorf("%s: call: got %s, want an unknown tool", name, got)
			}
		}
	}
	if got := listed.ask(0, ann, "tools/list", "", ""); !strings.Contains(got, `"t-sum"`) || !strings.Contains(got, `"open-hello"`) {
		t.Errorf("ann: got %s, want all tools", got)
	}
	reader := identity.Identity{Principal: "token:bob", Scopes: []string{"read"}}
	if got := listed.ask(0, reader, "tools/list", "", ""); !strings.Contains(got, `"t-any"`) || strings.Contains(got, `"t-sum"`) {
		t.Errorf("reader: got %s, want t-any and not t-sum", got)
	}
}

// A requestState, a task and an idempotency key work for the principal that has them.
func TestCallers_stateOfAnotherIsRefused(t *testing.T) {
	c := newCompany(t, false)
	both := identity.Identity{Principal: "token:bob", Groups: []string{"ops"}} // sees the same tools as ann
	keyed := `,"dev.sallyport/idempotencyKey":"k","reply":{"content":[{"type":"text","text":"of ann"}]}`
	if got := c.ask(0, ann, "tools/call", `"name":"t-any","arguments":{"a":1},`, keyed); !strings.Contains(got, "of ann") {
		t.Fatalf("got %s, want ann's answer", got)
	}
	other := `,"dev.sallyport/idempotencyKey":"k"`
	for replica := range c.replicas {
		if got := c.ask(replica, both, "tools/call", `"name":"t-any","arguments":{"a":1},`, other); strings.Contains(got, "of ann") {
			t.Errorf("idempotency key: got %s, want a call of its own", got)
		}
		if got := c.ask(replica, ann, "tools/call", `"name":"t-any","arguments":{"a":1},`, other); !strings.Contains(got, "of ann") {
			t.Errorf("idempotency key: got %s, want ann's kept answer", got)
		}
	}
}

// A suspended call continues for the principal that began it.
func TestCallers_requestStateOfAnotherIsRefused(t *testing.T) {
	c := newCompany(t, false)
	both := identity.Identity{Principal: "token:bob", Groups: []string{"ops"}}
	question := `,"ask":[[{"Method":"roots/list","Key":"r"}]]`
	state := stateOf(t, c.ask(0, ann, "tools/call", `"name":"t-any","arguments":{},`, question))
	answer := fmt.Sprintf(`"name":"t-any","arguments":{},"requestState":%q,"inputResponses":{"r":{"roots":[]}},`, state)
	for replica := range c.replicas {
		for _, id := range []identity.Identity{bob, both, {Principal: "token:Ann", Groups: []string{"ops"}}, {Principal: "token:ann"}} {
			if got := c.ask(replica, id, "tools/call", answer, question); strings.Contains(got, `"resultType":"complete"`) || !strings.Contains(got, `"error"`) {
				t.Errorf("%v: got %s, want an error", id, got)
			}
		}
	}
	if got := c.ask(1, ann, "tools/call", answer, question); !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("ann: got %s, want her result", got)
	}
}

// A task answers the principal that opened it, also to the same groups.
func TestCallers_taskOfAnotherIsUnknown(t *testing.T) {
	c := newCompany(t, false)
	opened := c.ask(0, ann, "tools/call", `"name":"jobs-only","arguments":{},`, `,"ask":[[{"Method":"roots/list","Key":"r"}]]`)
	task, ok := jsonraw.String(jsonraw.Get(json.RawMessage(opened), "result", "taskId"))
	if !ok {
		t.Fatalf("got %s, want a task", opened)
	}
	for _, id := range []identity.Identity{bob, {Principal: "token:bob", Groups: []string{"ops"}}, {Principal: "token:Ann"}, {Principal: "anonymous"}, {}} {
		for replica := range c.replicas {
			for method, params := range map[string]string{"tasks/get": "", "tasks/cancel": "", "tasks/update": `"inputResponses":{"r":{"roots":[]}},`} {
				got := c.ask(replica, id, method, fmt.Sprintf(`"taskId":%q,%s`, task, params), "")
				if !strings.Contains(got, "unknown task") {
					t.Errorf("%v: %s: got %s, want an unknown task", id, method, got)
				}
			}
		}
	}
	eventually(t, "ann's task asks, untouched", func() bool {
		return strings.Contains(c.ask(0, ann, "tasks/get", fmt.Sprintf(`"taskId":%q,`, task), ""), `"input_required"`)
	})
}

// A task runs with the roles of its call: on its own, and after its questions were answered.
func TestCallers_taskKeepsTheRolesOfItsCall(t *testing.T) {
	c := newCompany(t, false)
	tool := rule(t, nil, "group:ops")
	if err := c.catalogs[0].Configure(map[string]registry.Config{"jobs": {Callers: []catalog.CallerRule{tool}}}); err != nil {
		t.Fatal(err)
	}
	opened := c.ask(0, ann, "tools/call", `"name":"jobs-only","arguments":{},`, "")
	task, _ := jsonraw.String(jsonraw.Get(json.RawMessage(opened), "result", "taskId"))
	eventually(t, "ann's task is completed", func() bool {
		return strings.Contains(c.ask(0, ann, "tasks/get", fmt.Sprintf(`"taskId":%q,`, task), ""), `"completed"`)
	})
}

// The roles of a request replace those of its connection: a session outlives the token that began it.
func TestCallers_rolesAreThoseOfTheRequest(t *testing.T) {
	c := newCompany(t, false)
	conn := c.replicas[0].Connect(ConnOptions{Principal: ann.Principal, Roles: ann.Roles()})
	defer conn.Close()
	list := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+askableMeta+`}}}`)
	for _, test := range []struct {
		ctx  context.Context
		want bool
	}{
		{t.Context(), true},
		{identity.WithRoles(t.Context(), identity.Roles{}), false},
		{identity.WithRoles(t.Context(), identity.Roles{Groups: []string{"ops"}}), true},
	} {
		got := string(conn.Handle(test.ctx, &list, nil).Body)
		if strings.Contains(got, "t-sum") != test.want {
			t.Errorf("got %s, want t-sum: %v", got, test.want)
		}
	}
}

// A changed rule is told to all clients and holds for the next call and for subscriptions.
func TestCallers_changedRuleIsAnnounced(t *testing.T) {
	c := newCompany(t, false)
	told := make(chan string, 16)
	conn := c.replicas[0].Connect(ConnOptions{Principal: ann.Principal, Roles: ann.Roles(), Notify: func(msg []byte) { told <- string(msg) }})
	defer conn.Close()
	handle(t, conn, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`)
	ready := parse(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	conn.Handle(t.Context(), &ready, nil)
	if got := string(handle(t, conn, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://text"}}`).Body); !strings.Contains(got, `"result"`) {
		t.Fatalf("got %s, want a subscription", got)
	}
	c.configure(0, rule(t, nil, "group:dev"))
	got := ""
	for !strings.Contains(got, "tools/list_changed") || !strings.Contains(got, "resources/list_changed") {
		select {
		case msg := <-told:
			got += msg
		case <-time.After(time.Minute):
			t.Fatalf("got %s, want list_changed of tools and resources", got)
		}
	}
	if strings.Contains(got, "resources/updated") {
		t.Errorf("got %s, want no update of a hidden resource", got)
	}
	if got := string(handle(t, conn, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`).Body); strings.Contains(got, "t-sum") {
		t.Errorf("got %s, want no tool of t", got)
	}
	if got := string(handle(t, conn, `{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"test://text"}}`).Body); !strings.Contains(got, `"error"`) {
		t.Errorf("got %s, want an unknown resource", got)
	}
}

// The headers that repeat arguments are those of tools that the caller sees: a mismatch would reveal the tool.
func TestHeaderParams_ofHiddenToolAreNone(t *testing.T) {
	c := newCompany(t, false)
	if got := c.replicas[0].HeaderParams(bob, "t-region"); got != nil {
		t.Errorf("got %v, want none", got)
	}
	if got := c.replicas[0].HeaderParams(ann, "t-region"); len(got) != 2 {
		t.Errorf("got %v, want 2", got)
	}
}
