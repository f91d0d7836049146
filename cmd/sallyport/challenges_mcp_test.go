package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are the protocol revisions under test.
func eras() []string { return []string{"2026-07-28", "2025-11-25"} }

// overBoth runs a test with a client of each revision on each transport. connect starts a new session with the same
// server.
func overBoth(t *testing.T, config string, files []string, o *mcp.ClientOptions, test func(t *testing.T, connect func() *mcp.ClientSession)) {
	for _, version := range eras() {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(version+"/"+transport, func(t *testing.T) {
				t.Parallel()
				over := func() mcp.Transport { return commandTransport(program(t, config, "serve", folder(t, files...))) }
				if transport == "http" {
					url := serveURL(t, config, folder(t, files...), "--no-token")
					over = func() mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: url} }
					t.Cleanup(http.DefaultClient.CloseIdleConnections)
				}
				test(t, func() *mcp.ClientSession {
					client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
					s, err := client.Connect(t.Context(), over(), &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { s.Close() })
					return s
				})
			})
		}
	}
}

// A plugin elicits during a call, by form or by URL, and continues with the answer. The guest's standard input is
// empty.
func TestChallenge10_interactivity(t *testing.T) {
	person := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			switch {
			case strings.HasSuffix(r.Params.Message, "No?"):
				return &mcp.ElicitResult{Action: "decline"}, nil
			case r.Params.Mode == "url":
				return &mcp.ElicitResult{Action: map[bool]string{true: "accept", false: "cancel"}[r.Params.URL == "https://example.com/sign-in"]}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
	}
	const config = "plugins: {effects: {grants: [elicitation, elicitation: {url: https://example.com/**}]}}"
	ask := func(params string) step {
		return step{"do": "ask", "text": "elicitation/create", "params": json.RawMessage(params)}
	}
	const form = `"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	overBoth(t, config, []string{guest(t, "effects")}, person, func(t *testing.T, connect func() *mcp.ClientSession) {
		r := call(t, connect(), "effects-run", effects("",
			ask(`{"message":"Name?",`+form+`}`),
			step{"do": "stdin"},
			ask(`{"mode":"url","message":"Sign in","url":"https://example.com/sign-in"}`),
			ask(`{"message":"No?",`+form+`}`),
			step{"do": "sleep", "times": 1},
		))
		for n, want := range []string{
			`{"result":{"action":"accept","content":{"name":"Ada"}}}`, "ended after 0 bytes",
			`{"result":{"action":"accept"}}`, `{"result":{"action":"decline"}}`, "ok",
		} {
			if got := lineOf(t, r, n); got != want {
				t.Errorf("step %d: %s, want %s", n, got, want)
			}
		}
	})
}

// slow is a server that never answers; it signals each request and its end.
type slow struct{ come, gone chan struct{} }

func (s slow) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.come <- struct{}{}
	<-r.Context().Done()
	s.gone <- struct{}{}
}

// A cancelled call ends at once with its pending request, none of its files are committed, and the plugin's only
// instance is free.
func TestChallenge16_cancellation(t *testing.T) {
	up := slow{make(chan struct{}, 9), make(chan struct{}, 9)}
	site := httptest.NewServer(up)
	t.Cleanup(site.Close)
	dir := t.TempDir()
	config := "plugins: {effects: {limits: {concurrency: 1}, grants: [fs: 'read,write " + filepath.ToSlash(dir) + "/**', net: 'GET " + site.URL + "/**']}}"
	begun := make(chan struct{}, 99)
	var late sync.Map // progress tokens of finished calls
	client := &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if _, over := late.Load(r.Params.ProgressToken); over {
				t.Errorf("progress of a cancelled call: got %v, want none", r.Params)
			}
			begun <- struct{}{}
		},
	}
	started := step{"do": "ask", "text": "notifications/progress", "params": map[string]any{"progress": 1}}
	stays := map[string]step{
		"computes": {"do": "spin"},
		"sleeps":   {"do": "sleep", "times": 20_000},
		"fetches":  {"do": "fetch", "params": map[string]any{"url": site.URL + "/"}},
	}
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range eras() {
			for name, stay := range stays {
				t.Run(version+"/"+transport+"/"+name, func(t *testing.T) {
					s := alone(t, config, transport, version, client)
					file := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-"))
					params := &mcp.CallToolParams{Name: "effects-run", Arguments: effects("",
						step{"do": "write", "path": filepath.ToSlash(file), "text": "half"}, started, stay,
						step{"do": "ask", "text": "notifications/progress", "params": map[string]any{"progress": 2}})}
					params.SetProgressToken(t.Name())
					ctx, giveUp := context.WithCancel(t.Context())
					over := make(chan error, 1)
					go func() {
						_, err := s.CallTool(ctx, params)
						over <- err
					}()
					soon(t, begun)
					if name == "fetches" {
						soon(t, up.come)
					}
					begin := time.Now()
					giveUp()
					if err := soon(t, over); !errors.Is(err, context.Canceled) {
						t.Errorf("a cancelled call: got %v, want %v", err, context.Canceled)
					}
					late.Store(t.Name(), true)
					if name == "fetches" {
						soon(t, up.gone)
					}
					if r := call(t, s, "effects-run", effects("", step{"do": "stat", "path": filepath.ToSlash(file)})); lineOf(t, r, 0) == "-rw-r--r--" {
						t.Errorf("the next call: got the cancelled call's file, want none")
					}
					t.Logf("the next call was over %v later", time.Since(begin))
					if _, err := os.Stat(file); err == nil {
						t.Errorf("a cancelled call: got its file on the host, want none")
					}
				})
			}
		}
	}
}

// alone returns a session with a separate server.
func alone(t *testing.T, config, transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	var over mcp.Transport
	if dir := folder(t, guest(t, "effects")); transport == "http" {
		over = &mcp.StreamableClientTransport{Endpoint: serveURL(t, config, dir, "--no-token")}
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
	} else {
		over = commandTransport(program(t, config, "serve", dir))
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := client.Connect(t.Context(), over, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// One server serves clients of both eras. Calls share no state unless the plugin's state setting allows it: then each
// session has its own, which ends with it, and list shows that.
func TestChallenge26_sessions(t *testing.T) {
	remember := func(t *testing.T, s *mcp.ClientSession, what string) string {
		t.Helper()
		return text(call(t, s, "misbehave-remember", map[string]any{"text": what}))
	}
	file := guest(t, "misbehave")
	t.Run("call", func(t *testing.T) {
		overBoth(t, "", []string{file}, nil, func(t *testing.T, connect func() *mcp.ClientSession) {
			s := connect()
			if a, b := remember(t, s, "a"), remember(t, s, "b"); a != "" || b != "" {
				t.Errorf("memory of two calls: got %q, %q, want none", a, b)
			}
		})
	})
	const kept = "plugins: {misbehave: {state: session}}"
	t.Run("session", func(t *testing.T) {
		overBoth(t, kept, []string{file}, nil, func(t *testing.T, connect func() *mcp.ClientSession) {
			one, other := connect(), connect()
			want := "a"
			if strings.Contains(t.Name(), "2026-07-28/http") {
				want = "" // a client of this revision has no session
			}
			if got := remember(t, one, "a") + remember(t, other, "b"); got != "" {
				t.Errorf("first memory of two sessions: got %q, want none", got)
			}
			if got := remember(t, one, "c"); got != want {
				t.Errorf("found %q of its own session, want %q", got, want)
			}
			if err := one.Close(); err != nil {
				t.Error(err)
			}
			if got := remember(t, connect(), "d"); got != "" {
				t.Errorf("first memory of a later session: got %q, want none", got)
			}
		})
	})
	t.Run("asks", func(t *testing.T) { // and continues where it was, not from the start
		person := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}}
		ask := step{"do": "ask", "text": "elicitation/create", "params": json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)}
		for _, version := range eras() {
			s := alone(t, "plugins: {effects: {state: session, grants: [elicitation]}}", "stdio", version, person)
			r := call(t, s, "effects-run", effects("", step{"do": "remember", "text": "a"}, ask, ask, step{"do": "remember", "text": "b"}))
			if lineOf(t, r, 0) != "" || lineOf(t, r, 1) != `{"result":{"action":"decline"}}` || lineOf(t, r, 3) != "a" {
				t.Errorf("%s: got %s, want %q, %q", version, text(r), `{"result":{"action":"decline"}}`, "a")
			}
			if r = call(t, s, "effects-run", effects("", step{"do": "remember"})); lineOf(t, r, 0) != "b" {
				t.Errorf("%s: got memory %s in the next call, want b", version, text(r))
			}
		}
	})
	out, err := program(t, kept, "list", folder(t, file)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "keeps its state from call to call, for each session (state: session)") {
		t.Errorf("got %v: %s, want %q in it", err, out, "keeps its state from call to call, for each session (state: session)")
	}
}
