package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/transport/transporttest"
)

const poolManifest = `{"tools":[
	{"name":"say","description":"Logs at level info.","inputSchema":{"type":"object"}},
	{"name":"wait","description":"Waits for the end of the call.","inputSchema":{"type":"object"}},
	{"name":"talk","description":"Reports progress until it is released.","inputSchema":{"type":"object"}},
	{"name":"ask","description":"Asks for a name.","inputSchema":{"type":"object"}}
],"resources":[{"uri":"test://a","name":"a"}]}`

// poolHost is one of several hosts with one store.
type poolHost struct {
	*site
	kept    *store.Store
	catalog *registry.Registry
	entered chan string   // names of tools that run
	left    chan error    // of wait
	release chan struct{} // of talk
	stop    func()        // ends the host, once
}

// poolHosts starts n hosts with the store of a new folder.
func poolHosts(t *testing.T, n int, o Options) []*poolHost {
	t.Helper()
	dir := t.TempDir()
	var all []*poolHost
	for range n {
		all = append(all, newPoolHost(t, storetest.Options(t, dir), o))
	}
	return all
}

func newPoolHost(t *testing.T, at store.Options, o Options) *poolHost {
	t.Helper()
	h := &poolHost{entered: make(chan string, 100), left: make(chan error, 100), release: make(chan struct{}), kept: store.New(at)}
	srv, catalog := transporttest.Server(t, poolManifest, h.serve)
	elicitation, err := grant.ParseLine("elicitation")
	if err != nil {
		t.Fatal(err)
	}
	bare := false
	if err := catalog.Configure(map[string]registry.Config{"t": {Prefix: &bare, Grants: grant.NewSet(elicitation)}}); err != nil {
		t.Fatal(err)
	}
	o.Store = h.kept
	handler := NewHandler(srv, &o)
	web := httptest.NewServer(handler)
	h.site, h.catalog = &site{t, handler, web.URL + "/mcp"}, catalog
	h.stop = sync.OnceFunc(func() {
		handler.Close()
		http.DefaultClient.CloseIdleConnections()
		web.Close()
		h.kept.Close()
	})
	t.Cleanup(h.stop)
	return h
}

func (h *poolHost) serve(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "resources/read" {
		return json.RawMessage(`{"contents":[{"uri":"test://a","text":"hello"}]}`), nil
	}
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	gate, text := runtime.GateFrom(ctx), name
	h.entered <- name
	switch name {
	case "say":
		gate.Ask(ctx, "notifications/message", json.RawMessage(`{"level":"info","data":"said"}`), nil)
	case "wait":
		<-ctx.Done()
		h.left <- ctx.Err()
		return nil, ctx.Err()
	case "talk":
		for i := 1; ; i++ {
			gate.Ask(ctx, "notifications/progress", fmt.Appendf(nil, `{"progress":%d}`, i), nil)
			select {
			case _, open := <-h.release:
				if open {
					continue
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			break
		}
	case "ask":
		answer, err := gate.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`), nil)
		if err != nil {
			return nil, err
		}
		text = string(answer)
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonraw.AppendString(nil, text)), nil
}

const beginBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

// starts begins a session at the host, as token.
func (h *poolHost) starts(token string) headers {
	h.t.Helper()
	as := headers{"Authorization": "Bearer " + token}
	response, body := h.do("POST", beginBody, as)
	id := response.Header.Get("Mcp-Session-Id")
	if response.StatusCode != 200 || id == "" {
		h.t.Fatalf("initialize: got %d %q %s, want a session", response.StatusCode, id, body)
	}
	as["Mcp-Session-Id"], as["Mcp-Protocol-Version"] = id, "2025-11-25"
	return as
}

func (h *poolHost) notifies(in headers, method, params string) {
	h.t.Helper()
	h.want(method, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params), in, 202, "")
}

func toolBody(tool string) string {
	return legacyBody(1, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{},"_meta":{"progressToken":"p"}}`, tool))
}

var people = tokens{"a": "alice", "b": "bob"}

const gone = "there is no such session (any more): begin with initialize"

// Each request of a session is served by any host, with the state that requests at others have made.
func TestPool_anyHostServesASession(t *testing.T) {
	hosts := poolHosts(t, 3, Options{Tokens: people})
	in := hosts[0].starts("a")
	hosts[1].notifies(in, "notifications/initialized", "{}")
	for _, h := range hosts {
		h.want("ping", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	}
	says := func(h *poolHost) bool {
		t.Helper()
		_, body := h.do("POST", toolBody("say"), in)
		if !strings.Contains(body, `"text":"say"`) {
			t.Fatalf("got %s, want the result", body)
		}
		return strings.Contains(body, `"data":"said"`)
	}
	for i, level := range []string{"error", "debug", "warning", "info"} {
		hosts[i%3].want("level", "POST", legacyBody(1, "logging/setLevel", fmt.Sprintf(`{"level":%q}`, level)), in, 200, okBody)
		for n, h := range hosts {
			if got, want := says(h), i%2 == 1; got != want {
				t.Errorf("level %s, host %d: message %v, want %v", level, n, got, want)
			}
		}
	}
	var changes sync.WaitGroup // of different parts, at once
	changes.Go(func() {
		hosts[0].want("level", "POST", legacyBody(3, "logging/setLevel", `{"level":"error"}`), in, 200, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	})
	changes.Go(func() {
		hosts[1].want("subscribe", "POST", legacyBody(4, "resources/subscribe", `{"uri":"test://a"}`), in, 200, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	})
	changes.Wait()
	r, _, err := hosts[2].h.pool.read(t.Context(), in["Mcp-Session-Id"], "token:alice")
	if err != nil || !r.State.Resources["test://a"] || says(hosts[2]) || !r.State.Ready || r.State.Version != "2025-11-25" {
		t.Errorf("got %+v, %v, want both changes", r, err)
	}
	hosts[2].want("DELETE", "DELETE", "", in, 204, "")
	for _, h := range hosts {
		h.want("after DELETE", "POST", legacyBody(1, "ping", "{}"), in, 404, errorBody("1", -32600, gone))
		h.want("second DELETE", "DELETE", "", in, 404, refused(gone))
	}
}

// A session of another principal is answered as one that there never was, by the host that began it and by others.
func TestPool_aForeignSessionIsUnknown(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	id := in["Mcp-Session-Id"]
	for _, h := range hosts {
		for _, stolen := range []string{id, strings.Repeat("A", 26), strings.ToLower(id), id + "/x", id + "%", "' OR ''='", strings.Repeat("A", 5000)} {
			as := headers{"Mcp-Session-Id": stolen, "Authorization": "Bearer b", "Accept": "application/json, text/event-stream"}
			h.want("request", "POST", legacyBody(1, "ping", "{}"), as, 404, errorBody("1", -32600, gone))
			h.want("notification", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, as, 404, refused(gone))
			h.want("answer", "POST", `{"jsonrpc":"2.0","id":"x-1","result":{}}`, as, 404, errorBody(`"x-1"`, -32600, gone))
			h.want("batch", "POST", "[]", as, 404, refused(gone))
			h.want("DELETE", "DELETE", "", as, 404, refused(gone))
			h.want("GET", "GET", "", as, 404, refused(gone))
			as["Last-Event-ID"] = "0-0"
			h.want("resumption", "GET", "", as, 404, refused(gone))
		}
		h.want("alice", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	}
}

// DELETE at one host cancels the calls of the session at another.
func TestPool_deleteCancelsCallsElsewhere(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	called := make(chan struct{})
	go func() {
		defer close(called)
		hosts[0].want("call", "POST", toolBody("wait"), in, 200, cancelledBody("1", "the session has ended"))
	}()
	receive(t, hosts[0].entered)
	hosts[1].want("DELETE", "DELETE", "", in, 204, "")
	receive(t, called)
	if err := receive(t, hosts[0].left); err != context.Canceled {
		t.Errorf("the call ended with %v, want %v", err, context.Canceled)
	}
}

// expires sets the expiry of a session in the store.
func (h *poolHost) expires(id string, at time.Time) {
	h.t.Helper()
	err := h.kept.Change(h.t.Context(), store.Session, "token:alice", []store.Record{{ID: id, Expires: at}}, func(data [][]byte) ([][]byte, error) { return data, nil })
	if err != nil {
		h.t.Fatal(err)
	}
}

// Use at any host renews a session, and one that has expired is gone at all.
func TestPool_sessionsExpireUnlessUsed(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	id := in["Mcp-Session-Id"]
	hosts[0].expires(id, time.Now().Add(time.Minute))
	hosts[1].want("ping", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	if r, err := hosts[0].kept.Get(t.Context(), store.Session, id); err != nil || time.Until(r.Expires) < 50*time.Minute {
		t.Errorf("got expiry %v, %v, want about an hour from now", r.Expires, err)
	}
	hosts[0].expires(id, time.Now().Add(-time.Second))
	for _, h := range hosts {
		h.want("expired", "POST", legacyBody(1, "ping", "{}"), in, 404, errorBody("1", -32600, gone))
		if h.h.sessions.has(id) {
			t.Error("the expired session is still in a process")
		}
	}
}

// A flood of sessions ends the oldest of its principal, and none of another.
func TestPool_aFloodOfSessionsEndsTheOldest(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people, Rate: Rate{PerSecond: -1}})
	first, his := hosts[0].starts("a"), hosts[1].starts("b")
	var last headers
	for range 1024 {
		last = hosts[1].starts("a")
	}
	for _, h := range hosts {
		h.want("the oldest", "POST", legacyBody(1, "ping", "{}"), first, 404, errorBody("1", -32600, gone))
		h.want("the newest", "POST", legacyBody(1, "ping", "{}"), last, 200, okBody)
		h.want("of another", "POST", legacyBody(1, "ping", "{}"), his, 200, okBody)
	}
	list, err := hosts[0].kept.List(t.Context(), store.Session, "token:alice", "", 0)
	if err != nil || len(list) != 1000 {
		t.Errorf("got %d sessions, %v, want a page of 1000", len(list), err)
	}
}

// A session outlives the hosts that have served it.
func TestPool_aSessionOutlivesItsHost(t *testing.T) {
	dir := t.TempDir()
	one := newPoolHost(t, storetest.Options(t, dir), Options{Tokens: people})
	in := one.starts("a")
	one.stop()
	other := newPoolHost(t, storetest.Options(t, dir), Options{Tokens: people})
	other.want("ping", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
}

// A plugin that keeps state for a session does so in one process, and another one says so.
func TestPool_keptStateIsOfOneProcess(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	bare := false
	for _, h := range hosts {
		if err := h.catalog.Configure(map[string]registry.Config{"t": {Prefix: &bare, State: runtime.StateSession}}); err != nil {
			t.Fatal(err)
		}
	}
	in := hosts[0].starts("a")
	for range 2 {
		if _, body := hosts[1].do("POST", toolBody("say"), in); !strings.Contains(body, `"text":"say"`) {
			t.Errorf("the first process: got %s, want the result", body)
		}
		if _, body := hosts[0].do("POST", toolBody("say"), in); !strings.Contains(body, "this plugin keeps the state of the session in another process of the server") {
			t.Errorf("the second process: got %s, want that another has the state", body)
		}
	}
}

// A question of a session that was displaced at its host has an ID of its own: a late answer to it is not one to a later question.
func TestPool_anAnswerToADisplacedSessionAnswersNothingElse(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people, Sessions: 1})
	in := hosts[0].starts("a")
	hosts[0].notifies(in, "notifications/initialized", "{}")
	_, first := hosts[0].asks(in)
	hosts[0].starts("b") // displaces the session here, not in the store
	stream, second := hosts[0].asks(in)
	if first == second {
		t.Fatalf("got two questions of one ID %s in a session", first)
	}
	hosts[1].want("late answer", "POST", answerBody(first, "late"), in, 202, "")
	hosts[1].want("answer", "POST", answerBody(second, "ann"), in, 202, "")
	if got := strings.Join(stream.rest(), ""); !strings.Contains(got, "ann") || strings.Contains(got, "late") {
		t.Errorf("got %s, want the answer to this question", got)
	}
}
