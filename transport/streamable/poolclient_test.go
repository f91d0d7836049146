package streamable

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/transport/transporttest"
)

// inTurn is a proxy that sends each request to the next host.
func inTurn(t *testing.T, hosts []string) string {
	t.Helper()
	var next atomic.Int64
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		to, err := url.Parse(hosts[int(next.Add(1))%len(hosts)])
		if err != nil {
			t.Error(err)
			return
		}
		r.Out.URL, r.Out.Host = to, to.Host
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// The client of the official SDK speaks every version to three hosts in turn, and its cancellation finds its call.
func TestPool_officialClientSpeaksToHostsInTurn(t *testing.T) {
	p, dir := &plugin{make(chan struct{}, 10), make(chan error, 10)}, t.TempDir()
	var hosts []string
	for range 3 {
		kept := storetest.Open(t, storetest.Options(t, dir))
		srv, _ := transporttest.Server(t, manifest, p.serve)
		h := NewHandler(srv, &Options{Store: kept, Tokens: tokens{"secret": "ci"}})
		web := httptest.NewServer(h)
		t.Cleanup(func() {
			h.Close()
			http.DefaultClient.CloseIdleConnections()
			web.Close()
		})
		hosts = append(hosts, web.URL+"/mcp")
	}
	for _, version := range envelope.Versions() {
		t.Run(version, func(t *testing.T) { officialClient(t, inTurn(t, hosts), version, p) })
	}
	http.DefaultClient.CloseIdleConnections()
}

// The client of the official SDK answers questions of calls at any host.
func TestPool_officialClientAnswersAtAnyHost(t *testing.T) {
	var urls []string
	for _, h := range poolHosts(t, 3, Options{Tokens: people}) {
		urls = append(urls, h.url)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
		},
	})
	at := &mcp.StreamableClientTransport{Endpoint: inTurn(t, urls), HTTPClient: &http.Client{Transport: bearer("a")}}
	session, err := client.Connect(t.Context(), at, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 6 {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
		if err != nil || result.IsError {
			t.Fatalf("got %+v, %v, want the result", result, err)
		}
		if text := result.Content[0].(*mcp.TextContent).Text; text != `{"action":"accept","content":{"name":"ann"}}` {
			t.Errorf("got %s, want the answer", text)
		}
	}
}
