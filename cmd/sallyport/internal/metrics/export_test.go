package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/metrics"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/otlp"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// The metrics arrive at a collector that decodes them with the library of OpenTelemetry's own.
func TestExport_sendsMetricsThatACollectorReads(t *testing.T) {
	var got []string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(body)
		if err != nil || r.URL.Path != "/v1/metrics" {
			t.Errorf("%s: %v in %s", r.URL.Path, err, body)
		}
		for _, one := range m.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			got = append(got, lineOf(one))
		}
	}))
	defer collector.Close()
	m := metrics.New("1")
	m.ReadEngine(func() runtime.Stats { return runtime.Stats{Waiting: 7} })
	m.Observe(protocol.Begun{Method: "ping"}).Ended(protocol.Ended{Outcome: protocol.OutcomeOK})
	m.Call(receipt.Receipt{Plugin: "web", Outcome: receipt.OK, Fuel: 9, Memory: 2 << 20}, receipt.Caller{Method: "tools/call", Tool: "get"})
	e, err := otlp.New(otlp.Options{URL: collector.URL, Metrics: m.Export})
	if err != nil {
		t.Fatal(err)
	}
	e.Close(t.Context())
	for _, want := range []string{
		"sallyport.fuel  true Cumulative 9 map[plugin:web]",
		"sallyport.queue_length  7 map[]",
		"mcp.server.operation.duration s Cumulative 1 of 16 bounds and 17 buckets map[mcp.method.name:ping]",
		"sallyport.call_memory By Cumulative 1 of 9 bounds and 10 buckets map[plugin:web]",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// lineOf returns the first point of a metric.
func lineOf(m pmetric.Metric) string {
	named := m.Name() + " " + m.Unit() + " "
	switch m.Type() {
	case pmetric.MetricTypeSum:
		s := m.Sum()
		p := s.DataPoints().At(0)
		return fmt.Sprint(named, s.IsMonotonic(), " ", s.AggregationTemporality(), " ", p.DoubleValue(), " ", p.Attributes().AsRaw())
	case pmetric.MetricTypeHistogram:
		h := m.Histogram()
		p := h.DataPoints().At(0)
		sum := uint64(0)
		for _, n := range p.BucketCounts().All() {
			sum += n
		}
		return fmt.Sprint(named, h.AggregationTemporality(), " ", sum, " of ", p.ExplicitBounds().Len(), " bounds and ", p.BucketCounts().Len(), " buckets ", p.Attributes().AsRaw())
	}
	p := m.Gauge().DataPoints().At(0)
	return fmt.Sprint(named, p.DoubleValue(), " ", p.Attributes().AsRaw())
}
