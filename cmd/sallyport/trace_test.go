package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// A client's trace ID reaches the plugin's upstream and the audit log, in both eras. Its tracestate and baggage are not
// sent upstream.
func TestTrace_reachesUpstreamAndAudit(t *testing.T) {
	t.Parallel()
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

// A line of the log about a call has the IDs of its trace, as text and as JSON, and none without a trace.
func TestTrace_isInTheLog(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, asJSON := range []bool{true, false} {
		var log bytes.Buffer
		cmd := program(t, fmt.Sprint("log: {json: ", asJSON, "}"), "serve", folder(t, bundled(t, "files")))
		cmd.Stderr = &log
		s := session(t, commandTransport(cmd), nil)
		for _, meta := range []mcp.Meta{{"traceparent": "00-" + trace + "-" + span + "-01"}, {}} {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "files-read", Arguments: map[string]any{"path": "/etc/passwd"}, Meta: meta})
			if err != nil || !r.IsError {
				t.Fatalf("got %v, %v, want a denial", r, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		want := fmt.Sprintf("trace_id=%s span_id=%s", trace, span)
		if asJSON {
			want = fmt.Sprintf(`"span_id":"%s","trace_id":"%s"`, span, trace)
		}
		if got := log.String(); strings.Count(got, want) != strings.Count(got, "trace_id") || !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in the lines of the first call", got, want)
		}
	}
}

// With a collector, the trace of a call is whole: the client's span, the request, the call of the plugin, and the
// request that its upstream gets. The program sends the last of it when it ends.
func TestTrace_isWholeAtACollector(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	var asked string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("traceparent")
		_, _ = w.Write([]byte("hello"))
	}))
	defer site.Close()
	var got collected
	collector := httptest.NewServer(&got)
	defer collector.Close()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("X-Key: secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("telemetry: {url: %q, header: %q}\nplugins: {fetch: {grants: ['net: GET %s/**']}}", collector.URL, key, site.URL)
	s := session(t, commandTransport(program(t, config, "serve", folder(t, bundled(t, "fetch")))), nil)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch-fetch", Arguments: map[string]any{"url": site.URL + "/x"},
		Meta: mcp.Meta{"traceparent": "00-" + trace + "-" + span + "-01"}})
	if err != nil || r.IsError {
		t.Fatalf("%v, %+v", err, r)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	below := map[string]string{}
	for _, one := range got.spans {
		if one.TraceID().String() == trace {
			below[one.SpanID().String()] = one.ParentSpanID().String() + " " + one.Name()
		}
	}
	call := strings.Split(asked, "-")[2]
	request, name, _ := strings.Cut(below[call], " ")
	if name != "plugin fetch fetch" || below[request] != span+" tools/call fetch-fetch" || !got.metrics["mcp.server.operation.duration"] || got.key != "secret" {
		t.Errorf("upstream got %s, the collector %v, %v with the key %q; want a call below a request below %s", asked, below, got.metrics, got.key, span)
	}
}

// The lines of the audit log that a collector gets are those of the log, and are proven as a file.
func TestTelemetry_auditLinesAreProven(t *testing.T) {
	var got collected
	collector := httptest.NewServer(&got)
	defer collector.Close()
	dir := folder(t, bundled(t, "time"))
	state := compiledState(t, dir)
	s := ownSession(t, fmt.Sprintf("telemetry: {url: %q, audit: true}", collector.URL), state, dir)
	for range 3 {
		call(t, s, "time-now", map[string]any{})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	key, err := audit.ReadKey(filepath.Join(state, "audit", "key"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(strings.Join(got.lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Files{Keys: [][]byte{key}}.Verify(file)
	own, verified := audit.Verify(filepath.Join(state, "audit"))
	if err != nil || verified != nil || len(r.Problems) > 0 || len(r.Open) > 0 || r.Lines < 5 || r.Lines > own.Lines {
		t.Errorf("got %+v, %v, want a whole chain of those in %+v, %v", r, err, own, verified)
	}
}

// collected is a collector: the spans, the texts of the log records and the names of the metrics that it got.
type collected struct {
	mu      sync.Mutex
	key     string
	spans   []ptrace.Span
	metrics map[string]bool
	lines   []string
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = r.Header.Get("X-Key")
	body, err := io.ReadAll(r.Body)
	if err == nil && r.URL.Path == "/v1/logs" {
		var m plog.Logs
		if m, err = new(plog.JSONUnmarshaler).UnmarshalLogs(body); err == nil {
			for _, l := range m.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
				c.lines = append(c.lines, l.Body().Str())
				if l.EventName() != "sallyport.audit" || l.SeverityNumber() != plog.SeverityNumberInfo || l.Timestamp() == 0 {
					err = fmt.Errorf("a log record with the event %q of %v at %v", l.EventName(), l.SeverityNumber(), l.Timestamp())
				}
			}
		}
	}
	if err == nil && r.URL.Path == "/v1/traces" {
		var m ptrace.Traces
		if m, err = new(ptrace.JSONUnmarshaler).UnmarshalTraces(body); err == nil {
			for _, s := range m.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
				c.spans = append(c.spans, s)
			}
		}
	} else if err == nil {
		var m pmetric.Metrics
		if m, err = new(pmetric.JSONUnmarshaler).UnmarshalMetrics(body); err == nil {
			c.metrics = map[string]bool{}
			for _, one := range m.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
				c.metrics[one.Name()] = true
			}
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}
