package hostfuncs_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

const (
	traceStart = "00-0af7651916cd43dd8448eb211c80319c-"
	tracedMeta = `{"_meta":{"traceparent":"` + traceStart + `b7ad6b7169203331-01","tracestate":"a=1","baggage":"user=grete"}}`
)

// tracedGate opens a gate for a call with these params, and returns its line of the audit log after the call.
func tracedGate(t *testing.T, up trace.Upstream, params, line string) (g *hostfuncs.Gate, logged func() string) {
	t.Helper()
	dir := t.TempDir()
	record := audit.New(dir, audit.Options{})
	h := hostfuncs.NewHost(&hostfuncs.Options{Trace: up, Audit: record})
	t.Cleanup(h.Close)
	g = h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, line)}).NewGate(hostfuncs.Call{ID: "c1", Method: "tools/call", Params: []byte(params), Trace: trace.Read(jsonraw.Get([]byte(params), "_meta"))})
	return g, func() (found string) {
		g.Close()
		err := errors.Join(record.Close(), audit.Read(dir, func(l audit.Line) bool {
			if jsonraw.Get(l.Text, "call") != nil {
				found = string(l.Text)
			}
			return true
		}))
		if err != nil || found == "" {
			t.Fatalf("got line %q, %v, want one in the audit log", found, err)
		}
		return found
	}
}

// TestTrace_continuesOnEachHop checks that each request, on each hop, carries the trace of its call with the call's own
// span, and as much more as the operator allows.
func TestTrace_continuesOnEachHop(t *testing.T) {
	var seen []http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		if r.URL.Path == "/there" {
			http.Redirect(w, r, "/here", http.StatusFound)
		}
	})
	for _, tt := range []struct {
		up             trace.Upstream
		params         string
		state, baggage string
		traced         bool
	}{
		{trace.Parent, tracedMeta, "", "", true},
		{trace.State, tracedMeta, "a=1", "", true},
		{trace.Baggage, tracedMeta, "a=1", "user=grete", true},
		{trace.Off, tracedMeta, "", "", false},
		{trace.Baggage, `{}`, "", "", false},
		{trace.Baggage, `{"_meta":{"traceparent":"00-zz","tracestate":"a=1","baggage":"a b"}}`, "", "", false},
	} {
		seen = nil
		g, logged := tracedGate(t, tt.up, tt.params, "net: GET "+s.URL+"/**")
		if _, err := fetch(t, g, get(s.URL+"/there")); err != nil || len(seen) != 2 {
			t.Fatalf("got %v after %d requests, want 2 requests", err, len(seen))
		}
		parent := seen[0].Get("traceparent")
		if strings.HasPrefix(parent, traceStart) != tt.traced || strings.Contains(parent, "b7ad6b7169203331") || seen[1].Get("traceparent") != parent {
			t.Errorf("%v %s: got parents %q, %q, want the same, of the caller's trace: %t", tt.up, tt.params, parent, seen[1].Get("traceparent"), tt.traced)
		}
		if seen[0].Get("tracestate") != tt.state || seen[0].Get("baggage") != tt.baggage {
			t.Errorf("%v: got headers %q, want tracestate %q, baggage %q", tt.up, seen[0], tt.state, tt.baggage)
		}
		line := logged()
		span, _ := jsonraw.String(jsonraw.Get([]byte(line), "span"))
		if strings.Contains(tt.params, traceStart) != (span != "") || tt.traced && !strings.Contains(parent, span) || strings.Contains(line, "grete") {
			t.Errorf("%v: got line %s, want a span of the caller's trace and no baggage", tt.up, line)
		}
		if tt.params == tracedMeta && !strings.Contains(line, `"traceparent":"`+traceStart+`b7ad6b7169203331-01","tracestate":"a=1"`) {
			t.Errorf("got %s, want the caller's trace", line)
		}
	}
}

// TestTrace_ignoresGuest checks that the guest cannot choose the trace of a request, nor use it to send data to a
// server.
func TestTrace_ignoresGuest(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got a request to %s, want none", r.URL) })
	g, logged := tracedGate(t, trace.Off, tracedMeta, "net: GET "+s.URL+"/**")
	for _, name := range []string{"traceparent", "TraceState", "BAGGAGE"} {
		_, err := fetch(t, g, `{"url":"`+s.URL+`/","headers":{"`+name+`":"x"}}`)
		if err == nil || !strings.Contains(err.Error(), "is set by the host: remove it") {
			t.Errorf("%s: got %v, want a refusal that says: remove it", name, err)
		}
	}
	logged()
}
