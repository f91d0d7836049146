package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// socketClient returns a client of the HTTP server on a socket.
func socketClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

// page returns the status and the text of an address.
func page(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// The operator's address counts calls, and answers whether the host is ready. The endpoint of clients has neither that
// nor profiles.
func TestAdmin_countsCallsBesideTheEndpoint(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin")
	url := serveURL(t, "", "--no-token", "--admin", "unix:"+socket, folder(t, guest(t, "misbehave")))
	admin := socketClient(socket)
	s := session(t, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if _, err := s.ListTools(t.Context(), nil); err != nil { // waits until plugins are loaded
		t.Fatal(err)
	}
	for range 2 {
		if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "misbehave-trap"}); err != nil || !r.IsError {
			t.Fatalf("got %+v, %v, want a failed call", r, err)
		}
	}
	if status, text := page(t, admin, "http://host/health"); status != 200 || text != "ok\n" {
		t.Errorf("/health: got %d %q, want 200 ok", status, text)
	}
	_, text := page(t, admin, "http://host/metrics")
	for _, want := range []string{
		`sallyport_calls_total{outcome="trap",plugin="misbehave",tool="trap"} 2`,
		`sallyport_call_duration_seconds_count{plugin="misbehave",tool="trap"} 2`,
		`sallyport_requests_total{method="tools/call",outcome="trap"} 2`,
		`sallyport_starts_total{plugin="misbehave"} `,
		"\nsallyport_queue_length 0\n", "\nsallyport_queue_wait_seconds_count 0\n", "\nsallyport_engine_active ", "\nsallyport_modules 1\n",
		"\nsallyport_loaded_bytes ", "\nsallyport_compilations_total ", "\nsallyport_kept_instances 0\n",
		"\nsallyport_requests_in_flight ", "\nsallyport_sessions ", "\nsallyport_tasks_running 0\n",
		`go_goroutines `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics: got %s, want %s", text, want)
		}
	}
	for _, path := range []string{"/metrics", "/health", "/ready", "/debug/pprof/"} {
		if status, text := page(t, http.DefaultClient, strings.TrimSuffix(url, "/mcp")+path); status != 404 {
			t.Errorf("%s of the endpoint: got %d %q, want 404", path, status, text)
		}
	}
}

// hostilePosts returns requests of 2026-07-28 with an own name in each place where a client can write one: method, tool,
// prompt, URI, task and client.
func hostilePosts(url string, i int) (all []*http.Request) {
	name := fmt.Sprintf(`n%d'}{,=`, i)
	for _, r := range [][3]string{
		{name, "", `"x":1`}, {"tools/call", name, `"name":"` + name + `","arguments":{}`}, {"tools/call", "misbehave-" + name, `"name":"misbehave-` + name + `"`},
		{"prompts/get", name, `"name":"` + name + `"`}, {"resources/read", "x://" + name, `"uri":"x://` + name + `"`}, {"tasks/get", name, `"taskId":"` + name + `"`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"` + name + `"},"argument":{"name":"a","value":"b"}`}, {"server/discover", "", `"x":"` + name + `"`},
	} {
		meta := strings.ReplaceAll(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"N","version":"N"},"io.modelcontextprotocol/clientCapabilities":{}}`, "N", name)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","method":"%s","params":{%s,"_meta":%s}}`, name, r[0], r[2], meta)
		q, _ := http.NewRequest("POST", url, strings.NewReader(body)) // the address is that of a server
		q.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {r[0]}}
		if r[1] != "" {
			q.Header.Set("Mcp-Name", r[1])
		}
		all = append(all, q)
	}
	return all
}

// Names that clients make up bring no series.
func TestAdmin_countsNoNamesOfClients(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin")
	url := serveURL(t, "", "--no-token", "--admin", "unix:"+socket, folder(t, guest(t, "misbehave")))
	s := session(t, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if _, err := s.ListTools(t.Context(), nil); err != nil { // waits until plugins are loaded
		t.Fatal(err)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "misbehave-trap"}); err != nil { // it starts the plugin
		t.Fatal(err)
	}
	series := func(from, to int) map[string]bool {
		for i := from; i < to; i++ {
			for _, q := range hostilePosts(url, i) {
				r, err := http.DefaultClient.Do(q)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close()
			}
		}
		all := map[string]bool{}
		_, text := page(t, socketClient(socket), "http://host/metrics")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "sallyport_") {
				all[line[:strings.LastIndexByte(line, ' ')]] = true
			}
		}
		return all
	}
	before := series(0, 2)
	for _, method := range []string{"other", "tools/call", "prompts/get", "resources/read", "tasks/get", "server/discover"} {
		if name := `sallyport_request_duration_seconds_count{method="` + method + `"}`; !before[name] {
			t.Errorf("got no series %s, want the requests to be counted", name)
		}
	}
	for name := range series(2, 200) {
		if !before[name] {
			t.Errorf("got the series %s, want none for names of clients", name)
		}
	}
}

// A host is ready when its plugins are loaded and until it ends.
func TestReadiness_endsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := readiness{ending: ctx.Done()}
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "loaded") {
		t.Errorf("before plugins are loaded: got %v, want that reason", err)
	}
	r.loaded.Store(true)
	if err := r.check(); err != nil {
		t.Errorf("got %v, want ready", err)
	}
	cancel()
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "ending") {
		t.Errorf("while it ends: got %v, want that reason", err)
	}
}

// An address that other machines can reach is refused before anything is served, unless that is permitted.
func TestAdmin_refusesOtherMachines(t *testing.T) {
	out, err := program(t, "", "serve", "--http", "127.0.0.1:0", "--admin", "0.0.0.0:0", t.TempDir()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--admin-remote") {
		t.Errorf("got %v, %s, want a refusal that names --admin-remote", err, out)
	}
}
