package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client's trace ID reaches the plugin's upstream and the audit log, in both eras. Its tracestate and baggage are not
// sent upstream.
func TestTrace_reachesUpstreamAndAudit(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	var asked []http.Header
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header)
		_, _ = w.Write([]byte("hello"))
	}))
	defer site.Close()
	config := "plugins: {fetch: {grants: ['net: GET " + site.URL + "/**']}}"
	dir := folder(t, bundled(t, "fetch"))
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		asked = nil
		state := compiledState(t, dir)
		cmd := program(t, config, "serve", dir)
		ownState(cmd, state)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := client.Connect(t.Context(), commandTransport(cmd), &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch-fetch", Arguments: map[string]any{"url": site.URL + "/x"},
			Meta: mcp.Meta{"traceparent": "00-" + trace + "-" + span + "-01", "tracestate": "vendor=1", "baggage": "user=grete"}})
		if err != nil || r.IsError || len(asked) != 1 {
			t.Fatalf("%v, %+v, asked %d times", err, r, len(asked))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		h := asked[0]
		parent := strings.Split(h.Get("traceparent"), "-")
		if len(parent) != 4 || parent[1] != trace || parent[2] == span || h.Get("tracestate") != "" || h.Get("baggage") != "" {
			t.Errorf("%s: the server was asked with %q", version, h)
		}
		show := program(t, config, "audit", "tail", "--json")
		ownState(show, state)
		out, err := show.Output()
		if log := string(out); err != nil || !strings.Contains(log, `"traceparent":"00-`+trace+"-"+span+`-01","tracestate":"vendor=1","span":"`+parent[2]+`"`) || strings.Contains(log, "grete") {
			t.Errorf("%s: %v, the log says %s", version, err, log)
		}
	}
}
