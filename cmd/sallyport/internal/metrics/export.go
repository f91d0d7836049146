package metrics

import (
	"math"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/otlp"
)

// Export reads the metrics for OpenTelemetry, without those of the Go runtime and the process.
func (m *Metrics) Export() (all []otlp.Metric) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil // cannot fail: all metrics are ours
	}
	now := time.Now()
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), namespace+"_") {
			all = append(all, m.convert(f, now))
		}
	}
	return all
}

// convert converts one metric. Its points cover the time since the start of m.
func (m *Metrics) convert(f *dto.MetricFamily, now time.Time) otlp.Metric {
	to := otlp.Metric{Name: exported(f.GetName()), Description: f.GetHelp(), Unit: unitOf(f.GetName())}
	switch f.GetType() {
	case dto.MetricType_HISTOGRAM:
		to.Histogram = &otlp.Histogram{Temporality: otlp.Cumulative}
		for _, one := range f.GetMetric() {
			to.Histogram.Points = append(to.Histogram.Points, m.distribution(one, now))
		}
	case dto.MetricType_COUNTER:
		to.Sum = &otlp.Sum{Temporality: otlp.Cumulative, Monotonic: true}
		for _, one := range f.GetMetric() {
			to.Sum.Points = append(to.Sum.Points, otlp.Number{Attributes: attributes(one), Start: otlp.Time(m.began), At: otlp.Time(now), Value: one.GetCounter().GetValue()})
		}
	default:
		to.Gauge = &otlp.Gauge{}
		for _, one := range f.GetMetric() {
			to.Gauge.Points = append(to.Gauge.Points, otlp.Number{Attributes: attributes(one), Start: otlp.Time(m.began), At: otlp.Time(now), Value: one.GetGauge().GetValue()})
		}
	}
	return to
}

// distribution converts the cumulative buckets of Prometheus to counts of their own.
func (m *Metrics) distribution(one *dto.Metric, now time.Time) otlp.Distribution {
	h := one.GetHistogram()
	d := otlp.Distribution{Attributes: attributes(one), Start: otlp.Time(m.began), At: otlp.Time(now), Count: otlp.Count(h.GetSampleCount()), Sum: h.GetSampleSum()}
	before := uint64(0)
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue // the last bucket below
		}
		d.Bounds = append(d.Bounds, b.GetUpperBound())
		d.Counts = append(d.Counts, otlp.Count(b.GetCumulativeCount()-before))
		before = b.GetCumulativeCount()
	}
	d.Counts = append(d.Counts, otlp.Count(h.GetSampleCount()-before))
	return d
}

func attributes(one *dto.Metric) (all []otlp.Attribute) {
	for _, l := range one.GetLabel() {
		key := l.GetName()
		if key == "method" {
			key = otlp.Method
		}
		all = append(all, otlp.Text(key, l.GetValue()))
	}
	return all
}

// exported returns the name of a metric in OpenTelemetry: of its conventions for the time of a request, else that of
// Prometheus without its unit.
func exported(name string) string {
	if name == namespace+"_request_duration_seconds" {
		return otlp.OperationDuration
	}
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_total"), "_seconds"), "_bytes")
	return strings.Replace(name, "_", ".", 1)
}

// unitOf returns the unit of a metric in the code of UCUM, "" for a number.
func unitOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "By"
	}
	return ""
}
