package metrics

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/task"
)

// scrape returns the lines of this host's metrics.
func scrape(t *testing.T, m *Metrics) (lines []string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("got status %d: %s, want 200", w.Code, w.Body)
	}
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, namespace+"_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func wantLines(t *testing.T, m *Metrics, want ...string) {
	t.Helper()
	got := "\n" + strings.Join(scrape(t, m), "\n") + "\n"
	for _, line := range want {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("got %s, want the line %s", got, line)
		}
	}
}

func TestMetrics_countCallsWithTheirEffects(t *testing.T) {
	m := New("1.2.3")
	for range 2 {
		m.Call(receipt.Receipt{Plugin: "web", Outcome: receipt.OK, Millis: 20, Fuel: 700, Memory: 2 << 20,
			Effects: []receipt.Effect{{Family: "net", Target: "GET https://secret.example", Count: 3}},
			Denials: []receipt.Denial{{Family: "fs", Effect: "read ~/secret", Count: 2}},
		}, receipt.Caller{Principal: "token:secret", Method: "tools/call", Tool: "get"})
	}
	m.Call(receipt.Receipt{Plugin: "web", Outcome: "deadline"}, receipt.Caller{Method: "resources/read"})
	m.Call(receipt.Receipt{Plugin: "web"}, receipt.Caller{Method: "tools/call", Tool: "get"})
	m.Call(receipt.Receipt{Plugin: "web"}, receipt.Caller{Method: start})
	wantLines(t, m,
		`sallyport_build_info{version="1.2.3"} 1`,
		`sallyport_calls_total{outcome="ok",plugin="web",tool="get"} 2`,
		`sallyport_calls_total{outcome="aborted",plugin="web",tool="get"} 1`,
		`sallyport_calls_total{outcome="deadline",plugin="web",tool="resources/read"} 1`,
		`sallyport_call_duration_seconds_count{plugin="web",tool="get"} 3`,
		`sallyport_call_duration_seconds_bucket{plugin="web",tool="get",le="0.025"} 3`,
		`sallyport_fuel_total{plugin="web"} 1400`,
		`sallyport_call_memory_bytes_count{plugin="web"} 2`,
		`sallyport_effects_total{family="net",plugin="web"} 6`,
		`sallyport_refusals_total{family="fs",plugin="web"} 4`,
		`sallyport_starts_total{plugin="web"} 1`,
	)
	if got := strings.Join(scrape(t, m), "\n"); strings.Contains(got, "secret") {
		t.Errorf("got %s, want nothing of a caller or a target", got)
	}
}

func TestMetrics_countRequestsByOutcome(t *testing.T) {
	m := New("")
	for _, b := range []protocol.Begun{{Method: "tools/call"}, {Method: ""}, {Method: "tools/call", Task: true}} {
		m.Observe(b).Ended(protocol.Ended{Subject: "secret", Outcome: protocol.OutcomeTool})
	}
	wantLines(t, m,
		`sallyport_requests_total{method="tools/call",outcome="tool_error"} 1`,
		`sallyport_requests_total{method="other",outcome="tool_error"} 1`,
		`sallyport_requests_total{method="task",outcome="tool_error"} 1`,
		`sallyport_request_duration_seconds_count{method="tools/call"} 1`,
	)
}

// Operations of the store and tasks have a fixed set of series, from zero on.
func TestMetrics_countTheStoreAndTasks(t *testing.T) {
	m := New("")
	wantLines(t, m, `sallyport_store_duration_seconds_count{operation="read"} 0`, `sallyport_store_unavailable_total 0`)
	m.ReadServer(func() protocol.Stats {
		return protocol.Stats{TaskCounts: task.Counts{Working: 1, Input: 2, Completed: 3, Failed: 4, Cancelled: 5}}
	})
	m.Took(store.OperationRead, 20*time.Millisecond, store.ErrNotFound)
	m.Took(store.OperationWrite, 2*time.Second, fmt.Errorf("write: %w", store.ErrUnavailable))
	wantLines(t, m,
		`sallyport_store_duration_seconds_bucket{operation="read",le="0.025"} 1`,
		`sallyport_store_duration_seconds_bucket{operation="write",le="1"} 0`,
		`sallyport_store_duration_seconds_sum{operation="write"} 2`,
		`sallyport_store_unavailable_total 1`,
		`sallyport_tasks{status="working"} 1`,
		`sallyport_tasks{status="input_required"} 2`,
		`sallyport_tasks_ended_total{status="completed"} 3`,
		`sallyport_tasks_ended_total{status="failed"} 4`,
		`sallyport_tasks_ended_total{status="cancelled"} 5`,
	)
}

// A plugin that names a million tools has a bounded number of series, and takes no room of another plugin.
func TestMetrics_boundHostileNames(t *testing.T) {
	m := New("")
	call := func(plugin, tool string) {
		m.Call(receipt.Receipt{Plugin: plugin, Outcome: receipt.OK}, receipt.Caller{Method: "tools/call", Tool: tool})
	}
	for i := range 10_000 {
		call("hostile", fmt.Sprint("tool", i))
	}
	for i := range 1_000_000 {
		if _, tool := m.names.pair("hostile", strconv.Itoa(i)); tool != other {
			t.Fatalf("got the name %q, want other", tool)
		}
	}
	for _, tool := range []string{"\xff\xfe", "a\"b\n{}", strings.Repeat("x", 1<<20), ""} {
		call("odd", tool)
	}
	call("good", "one")
	wantLines(t, m,
		`sallyport_calls_total{outcome="ok",plugin="good",tool="one"} 1`,
		`sallyport_calls_total{outcome="ok",plugin="hostile",tool="tool0"} 1`,
		fmt.Sprintf(`sallyport_calls_total{outcome="ok",plugin="hostile",tool="other"} %v`, 10_000-maxTools),
	)
	for i := range 2 * maxPlugins {
		for j := range 4 {
			call(fmt.Sprint("p", i), fmt.Sprint("t", j))
		}
	}
	if pairs, most := m.names.pairs, maxPairs+maxPlugins; pairs > most || len(m.names.tools) > maxPlugins {
		t.Errorf("got %d names of %d plugins, want at most %d of %d", pairs, len(m.names.tools), most, maxPlugins)
	}
	calls := 0
	for _, line := range scrape(t, m) {
		if strings.HasPrefix(line, "sallyport_calls_total{") {
			calls++
		}
		if len(line) > 1024 {
			t.Errorf("got a line of %d bytes, want at most 1024", len(line))
		}
	}
	if most := maxPairs + maxPlugins + 1; calls > most {
		t.Errorf("got %d series of calls, want at most %d", calls, most)
	}
}

// A name that was not used for an hour gives its place to a new one, and its series end.
func TestNames_forgetUnusedOnes(t *testing.T) {
	m := New("")
	now := time.Unix(1_000_000, 0)
	m.names.now = func() time.Time { return now }
	call := func(plugin, tool string) {
		m.Call(receipt.Receipt{Plugin: plugin, Outcome: receipt.OK, Fuel: 1}, receipt.Caller{Method: "tools/call", Tool: tool})
	}
	for i := range maxPlugins {
		call(fmt.Sprint("old", i), "t")
	}
	call("new", "t")
	now = now.Add(idle - trimTime)
	call("old1", "t")
	now = now.Add(trimTime)
	call("new", "t")
	wantLines(t, m,
		`sallyport_calls_total{outcome="ok",plugin="other",tool="other"} 1`,
		`sallyport_calls_total{outcome="ok",plugin="new",tool="t"} 1`,
		`sallyport_calls_total{outcome="ok",plugin="old1",tool="t"} 2`,
	)
	for _, line := range scrape(t, m) {
		if strings.Contains(line, `plugin="old2"`) {
			t.Errorf("got %s, want no series of a forgotten plugin", line)
		}
	}
}

func BenchmarkMetrics_call(b *testing.B) {
	m := New("")
	r, by := receipt.Receipt{Plugin: "p", Outcome: receipt.OK, Millis: 1, Fuel: 1, Memory: 1 << 20}, receipt.Caller{Method: "tools/call", Tool: "t"}
	b.ReportAllocs()
	for b.Loop() {
		ended := m.Observe(protocol.Begun{Method: "tools/call"}).Ended
		m.Call(r, by)
		ended(protocol.Ended{Outcome: protocol.OutcomeOK})
	}
}
