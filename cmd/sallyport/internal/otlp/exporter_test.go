package otlp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// collector is a collector over real HTTP that decodes with the library of OpenTelemetry's own. Its answers are taken
// in turn, and the last one repeats.
type collector struct {
	*httptest.Server
	answers chan int
	spans   chan ptrace.Span // of the accepted messages
	asked   chan *http.Request
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{answers: make(chan int, len(answers)), spans: make(chan ptrace.Span, 2*maxWaiting), asked: make(chan *http.Request, 1000)}
	for _, a := range answers {
		c.answers <- a
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked <- r
		status := http.StatusOK
		select {
		case status = <-c.answers:
		default:
		}
		body, _ := io.ReadAll(r.Body)
		m, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v in %s", r.URL.Path, r.Header.Get("Content-Type"), err, body)
		}
		if status != http.StatusOK {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			return
		}
		for _, one := range m.ResourceSpans().All() {
			if v, _ := one.Resource().Attributes().Get("service.name"); v.Str() != "sallyport" {
				t.Errorf("got a resource %v, want the service sallyport", one.Resource().Attributes().AsRaw())
			}
			for _, s := range one.ScopeSpans().At(0).Spans().All() {
				c.spans <- s
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// start starts an exporter whose clocks the test drives: tick sends what waits, and each delay is reported and over.
func start(t *testing.T, url string) (e *Exporter, tick chan time.Time, delays chan time.Duration) {
	t.Helper()
	tick, delays = make(chan time.Time), make(chan time.Duration, 100)
	e, err := New(Options{URL: url, Header: http.Header{"X-Key": {"k"}}, Version: "1.2.3",
		tick: func(d time.Duration) <-chan time.Time {
			if d == spanTime {
				return tick
			}
			return nil
		},
		after: func(d time.Duration) <-chan time.Time {
			delays <- d
			over := make(chan time.Time, 1)
			over <- time.Time{}
			return over
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(t.Context()) })
	return e, tick, delays
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A request and the call of its plugin are two spans, the second below the first.
func TestExporter_sendsRequestsAndCalls(t *testing.T) {
	c := newCollector(t)
	e, _, _ := start(t, c.URL)
	o := e.Observe(protocol.Begun{Method: "tools/call", Version: "2026-07-28", ID: `"r-7"`, Trace: trace.Context{Parent: parent, State: "a=1"}})
	r := receipt.Receipt{Call: "c1", Plugin: "web", Outcome: "deadline", Millis: 3, Fuel: 5, Effects: []receipt.Effect{{Family: "net", Count: 2}, {Family: "net", Count: 1}}, Denials: []receipt.Denial{{Family: "fs", Count: 4}}}
	e.Call(r, receipt.Caller{Method: "tools/call", Tool: "get", Trace: o.Span, Span: o.Span.Child()})
	o.Ended(protocol.Ended{Call: "c1", Subject: "web-get", Outcome: "deadline", Code: -32001})
	e.Close(t.Context())
	call, request := <-c.spans, <-c.spans
	if call.ParentSpanID() != request.SpanID() || call.TraceID() != request.TraceID() || request.ParentSpanID().String() != "b7ad6b7169203331" || request.TraceID().String() != parent[3:35] || request.TraceState().AsRaw() != "a=1" {
		t.Errorf("got a call %s below %s and a request %s below %s, want one below the other below the client's", call.SpanID(), call.ParentSpanID(), request.SpanID(), request.ParentSpanID())
	}
	if took := call.EndTimestamp().AsTime().Sub(call.StartTimestamp().AsTime()); took != 3*time.Millisecond {
		t.Errorf("the call took %v, want 3 ms", took)
	}
	if code, _ := request.Attributes().Get("rpc.response.status_code"); code.Type() != pcommon.ValueTypeStr {
		t.Errorf("got a status code of the type %v, want a text", code.Type())
	}
	for s, want := range map[ptrace.Span]string{
		request: "tools/call web-get Server Error map[error.type:-32001 gen_ai.operation.name:execute_tool gen_ai.tool.name:web-get jsonrpc.request.id:r-7 mcp.method.name:tools/call mcp.protocol.version:2026-07-28 rpc.response.status_code:-32001 sallyport.call:c1 sallyport.outcome:deadline]",
		call:    "plugin web get Internal Error map[sallyport.call:c1 sallyport.effects.net:3 sallyport.fuel:5 sallyport.memory:0 sallyport.outcome:deadline sallyport.plugin:web sallyport.refusals.fs:4]",
	} {
		if got := fmt.Sprint(s.Name(), " ", s.Kind(), " ", s.Status().Code(), " ", s.Attributes().AsRaw()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A request without a trace begins one. A client that does not sample gets no spans, but its trace goes on.
func TestExporter_followsTheSamplingOfTheClient(t *testing.T) {
	c := newCollector(t)
	e, _, _ := start(t, c.URL)
	quiet := e.Observe(protocol.Begun{Method: "tools/list", Trace: trace.Context{Parent: parent[:53] + "00"}})
	quiet.Ended(protocol.Ended{Outcome: protocol.OutcomeOK})
	e.Call(receipt.Receipt{Plugin: "web"}, receipt.Caller{Trace: quiet.Span, Span: quiet.Span.Child()})
	e.Call(receipt.Receipt{Plugin: "web"}, receipt.Caller{})
	own := e.Observe(protocol.Begun{})
	own.Ended(protocol.Ended{Outcome: protocol.OutcomeOK})
	uri := e.Observe(protocol.Begun{Method: "resources/read", Task: true})
	uri.Ended(protocol.Ended{Outcome: protocol.OutcomeOK, Subject: strings.Repeat("é", maxText)})
	e.Close(t.Context())
	first, second := <-c.spans, <-c.spans
	if len(c.spans) != 0 || first.Name() != "unknown" || !first.ParentSpanID().IsEmpty() || first.Status().Code() != ptrace.StatusCodeUnset || second.Name() != "resources/read" {
		t.Errorf("got %q below %s, %q and %d more, want an unknown method in a trace of its own, and a name without the URI", first.Name(), first.ParentSpanID(), second.Name(), len(c.spans))
	}
	if quiet.Span.TraceID() != parent[3:35] || quiet.Span.Sampled() || quiet.Span.Span() == parent[36:52] {
		t.Errorf("got the span %s, want a child of %s", quiet.Span.Parent, parent)
	}
	if v, _ := second.Attributes().Get(resourceURI); len(v.Str()) > maxText || v.Str() == "" {
		t.Errorf("got a URI of %d bytes, want at most %d", len(v.Str()), maxText)
	}
}

// A collector that is busy is asked again, later each time, and one that refuses is not. No redirect is followed: the
// header has a key.
func TestExporter_asksAgainAsTheProtocolPermits(t *testing.T) {
	for _, tt := range []struct {
		answers []int
		asked   int
		arrived bool
		delays  string
		lost    uint64
	}{
		{[]int{503, 429, 502, 504}, 5, true, "[7s 7s 7s 8s]", 0},
		{[]int{503, 503, 503, 503, 503}, 5, false, "[7s 7s 7s 8s]", 1},
		{[]int{400}, 1, false, "[]", 1},
		{[]int{302}, 1, false, "[]", 1},
		{[]int{500}, 1, false, "[]", 1},
	} {
		c := newCollector(t, tt.answers...)
		e, tick, delays := start(t, c.URL)
		e.Observe(protocol.Begun{Method: "ping"}).Ended(protocol.Ended{})
		tick <- time.Now()
		tick <- time.Now() // the first one is over
		got := []time.Duration{}
		for len(delays) > 0 {
			got = append(got, <-delays)
		}
		if len(c.asked) != tt.asked || (len(c.spans) == 1) != tt.arrived || fmt.Sprint(got) != tt.delays || e.Dropped() != tt.lost {
			t.Errorf("answers %v: asked %d times after %v, arrived %d, lost %d; want %d times after %s, %t, %d", tt.answers, len(c.asked), got, len(c.spans), e.Dropped(), tt.asked, tt.delays, tt.arrived, tt.lost)
		}
		if r := <-c.asked; r.Header.Get("X-Key") != "k" || r.Header.Get("User-Agent") != "sallyport/1.2.3" {
			t.Errorf("got the header %v, want the collector's key and our name", r.Header)
		}
	}
}

// A collector that never answers delays no request: spans over the bound are dropped and counted, and the end of the
// program waits no longer than it was told.
func TestExporter_neverWaits(t *testing.T) {
	asked, over := make(chan bool), make(chan bool)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- true
		<-over
	}))
	defer silent.Close()
	defer close(over)
	e, _, _ := start(t, silent.URL)
	for range batch {
		e.Span(Span{Name: "first"})
	}
	<-asked
	for range maxWaiting + 3 {
		e.Span(Span{Name: "more"})
	}
	if got := e.Dropped(); got != 3 {
		t.Errorf("%d spans were dropped, want 3", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Close(ctx)
	if got := e.Dropped(); got < batch+3 {
		t.Errorf("%d spans were dropped at the end, want those of the open request too", got)
	}
}

// Lines of the audit log may be long: neither those that wait for a collector nor a message with them take memory without
// bound.
func TestExporter_boundsTheTextOfRecords(t *testing.T) {
	sizes, over := make(chan int64, 100), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		sizes <- n
		<-over
	}))
	defer slow.Close()
	e, _, _ := start(t, slow.URL)
	line := strings.Repeat("x", 300<<10)
	for range 100 {
		e.Record(time.Now(), "audit", line)
	}
	e.mu.Lock()
	waiting := 0
	for _, one := range e.records.waiting {
		waiting += len(*one.(record).Body.String)
	}
	e.mu.Unlock()
	if waiting > 10<<20 {
		t.Errorf("%d bytes wait, want 10 MiB or less", waiting)
	}
	close(over)
	e.Close(t.Context())
	close(sizes)
	sent, most := 0, int64(0)
	for n := range sizes {
		sent, most = sent+1, max(most, n)
	}
	if most > 2<<20 || sent < 5 {
		t.Errorf("%d messages, one of %d bytes, want many of 2 MiB or less", sent, most)
	}
	if e.records.dropped.Load() == 0 {
		t.Error("no record was dropped, want those over the bound")
	}
}

func TestNew_refusesAddresses(t *testing.T) {
	for _, url := range []string{"", "collector", "127.0.0.1:4318", "grpc://c:4317", "http://", "http://u:p@c:4318", "http://c/?k=v", "http://c/#f", "http://c:x"} {
		if _, err := New(Options{URL: url}); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:4318") {
			t.Errorf("%q: got %v, want a refusal with an example", url, err)
		}
	}
}
