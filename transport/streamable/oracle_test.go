package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/transport/transporttest"
)

const manifest = `{"tools":[
	{"name":"echo","description":"d","inputSchema":{"type":"object","properties":{
		"text":{"type":"string","x-mcp-header":"Text"},"count":{"type":"integer","x-mcp-header":"Count"}}}},
	{"name":"talk","description":"d","inputSchema":{"type":"object"}},
	{"name":"wait","description":"d","inputSchema":{"type":"object"}}
],"resources":[{"uri":"test://a/b%20c","name":"a"}]}`

// plugin serves the manifest's tools.
type plugin struct {
	entered chan struct{}
	left    chan error
}

func (p *plugin) serve(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "resources/read" {
		return json.RawMessage(`{"contents":[{"uri":"test://a/b%20c","text":"hello"}]}`), nil
	}
	name, _ := jsonraw.String(jsonraw.Get(params, "name"))
	text := "hello"
	switch name {
	case "echo":
		text, _ = jsonraw.String(jsonraw.Get(params, "arguments", "text"))
	case "talk":
		for i := range 3 {
			runtime.GateFrom(ctx).Ask(ctx, "notifications/progress", fmt.Appendf(nil, `{"progress":%d}`, i+1), nil)
		}
	case "wait":
		p.entered <- struct{}{}
		<-ctx.Done()
		p.left <- ctx.Err()
		return nil, ctx.Err()
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonraw.AppendString(nil, text)), nil
}

// realServer returns a protocol server over an in-process plugin.
func realServer(t *testing.T) (*protocol.Server, *plugin) {
	t.Helper()
	p := &plugin{make(chan struct{}, 10), make(chan error, 10)}
	srv, _ := transporttest.Server(t, manifest, p.serve)
	return srv, p
}

// realSite returns a listener over realServer.
func realSite(t *testing.T, o *Options) (*served, *plugin) {
	t.Helper()
	srv, p := realServer(t)
	o.Addr = "127.0.0.1:0"
	l, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := NewHandler(srv, o)
	s := &served{&site{t, h, l.URL()}, l, stop, make(chan error, 1)}
	go func() { s.done <- l.Serve(ctx, h) }()
	return s, p
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestOfficialClient_speaksEveryVersion runs the official SDK's client with every protocol version that it supports.
func TestOfficialClient_speaksEveryVersion(t *testing.T) {
	s, p := realSite(t, &Options{Tokens: tokens{"secret": "ci"}})
	for _, version := range envelope.Versions() {
		t.Run(version, func(t *testing.T) { officialClient(t, s.url, version, p) })
	}
	http.DefaultClient.CloseIdleConnections()
	s.end()
}

func officialClient(t *testing.T, url, version string, p *plugin) {
	progress := make(chan float64, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer("secret")}}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Errorf("version %s", got)
	}
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 3 {
		t.Fatalf("tools: %v, %v", list, err)
	}
	for _, text := range []string{"hello", "日本", " padded ", "=?base64?x?=", "line\nbreak", ""} {
		arguments := map[string]any{"text": text, "count": 42}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: arguments})
		if err != nil || result.Content[0].(*mcp.TextContent).Text != text {
			t.Errorf("echo %q: %+v, %v", text, result, err)
		}
	}
	if read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://a/b%20c"}); err != nil || read.Contents[0].Text != "hello" {
		t.Errorf("read: %+v, %v", read, err)
	}
	params := &mcp.CallToolParams{Name: "talk"}
	params.SetProgressToken("t")
	if result, err := session.CallTool(t.Context(), params); err != nil || result.IsError {
		t.Errorf("talk: %+v, %v", result, err)
	}
	for want := range 3 {
		if got := receive(t, progress); got != float64(want+1) {
			t.Errorf("progress %v, want %d", got, want+1)
		}
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("an unknown tool: got %v, want \"none\" in it", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		receive(t, p.entered)
		cancel()
	}()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); err == nil {
		t.Error("a cancelled call has a result")
	}
	if err := receive(t, p.left); err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
}

// TestHandler_servesBothErasOnOneEndpoint uses modern and legacy revisions on one endpoint, with real protocol
// responses.
func TestHandler_servesBothErasOnOneEndpoint(t *testing.T) {
	s, _ := realSite(t, &Options{})
	modern := func(method, params string, extra headers) (int, string) {
		r, body := s.do("POST", modernBody(method, params), modernHeaders(method, "", extra))
		return r.StatusCode, body
	}
	for _, test := range []struct {
		method, params string
		extra          headers
		status, code   int
	}{
		{"server/discover", "", nil, 200, 0},
		{"tools/list", "", nil, 200, 0},
		{"tools/call", `"name":"none","arguments":{},`, headers{"Mcp-Name": "none"}, 200, -32602},
		{"tools/call", `"arguments":{},`, nil, 200, -32602},
		{"tools/call", `"name":"echo","arguments":{"text":"a"},`, headers{"Mcp-Name": "echo"}, 400, -32020},
		{"tools/call", `"name":"echo","arguments":{"text":"a"},`, headers{"Mcp-Name": "echo", "Mcp-Param-Text": "a"}, 200, 0},
		{"resources/read", `"uri":"test://none",`, headers{"Mcp-Name": "test://none"}, 200, -32602},
		{"ping", "", nil, 404, -32601},
		{"initialize", "", nil, 404, -32601},
		{"logging/setLevel", "", nil, 404, -32601},
		{"tasks/list", "", nil, 404, -32601},
		{"none", "", nil, 404, -32601},
	} {
		status, body := modern(test.method, test.params, test.extra)
		var m struct {
			Result json.RawMessage
			Error  struct{ Code int }
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil || status != test.status || m.Error.Code != test.code || (m.Result != nil) != (test.code == 0) {
			t.Errorf("%s: %d %s", test.method, status, body)
		}
	}
	in := headers{"Mcp-Session-Id": s.beginReal("2025-03-26")}
	s.want("batch", "POST", `[`+legacyBody(1, "ping", "{}")+`,{"jsonrpc":"2.0","method":"notifications/initialized"},`+legacyBody(2, "ping", "{}")+`]`,
		in, 200, `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`)
	s.want("batch of notifications", "POST", `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, in, 202, "")
	in = headers{"Mcp-Session-Id": s.beginReal("2025-11-25")}
	s.want("batch in a newer session", "POST", `[`+legacyBody(1, "ping", "{}")+`]`, in, 400, unreadable("batches are part of protocol version 2025-03-26 only"))
	s.want("modern method in an old session", "POST", legacyBody(1, "server/discover", "{}"), in, 200, errorBody("1", -32601, "method not found: server/discover"))
	http.DefaultClient.CloseIdleConnections()
	s.end()
}

// Over HTTP a request that its client cancels gets a response too: nothing else ends the client's wait.
func TestHandler_answersCancelledRequests(t *testing.T) {
	s, p := realSite(t, &Options{})
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		in := headers{"Mcp-Session-Id": s.beginReal(version)}
		wait := legacyBody(7, "tools/call", `{"name":"wait"}`)
		// Both requests have complete responses before the test continues.
		cancelled := func(name, body, answer string) {
			var both sync.WaitGroup
			both.Go(func() { s.want(name, "POST", body, in, 200, answer) })
			receive(t, p.entered)
			s.want("cancelled", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, in, 202, "")
			receive(t, p.left)
			both.Wait()
		}
		cancelled(version, wait, cancelledBody("7", "the request was cancelled"))
		if version == "2025-03-26" {
			cancelled("batch", "["+wait+","+legacyBody(8, "ping", "{}")+"]",
				"["+cancelledBody("7", "the request was cancelled")+`,{"jsonrpc":"2.0","id":8,"result":{}}]`)
		}
	}
	s.end()
}

func (s *served) beginReal(version string) string {
	s.t.Helper()
	r, body := s.do("POST", legacyBody(0, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`), nil)
	if id := r.Header.Get("Mcp-Session-Id"); r.StatusCode == 200 && id != "" && strings.Contains(body, version) {
		return id
	}
	s.t.Fatalf("initialize: %d %s", r.StatusCode, body)
	return ""
}
