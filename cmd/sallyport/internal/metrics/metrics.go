// Package metrics counts calls, requests and effects of a host, for Prometheus and OpenTelemetry.
//
//	m := metrics.New(version)
//	host.Options{Ended: m.Call}                 // each call of a plugin
//	protocol.Options{Observe: m.Observe}        // each request of a client
//	store.Options{Took: m.Took}                 // each operation of the store
//	http.Handle("/metrics", m.Handler())
//	otlp.Options{Metrics: m.Export}             // and for OpenTelemetry
//
// Labels have names of plugins and of their tools, words of the host, and nothing of a caller. Their number is bounded:
// names over the bounds count as the name other.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Metrics counts the calls and requests of one process. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	names    *names
	began    time.Time

	requests, calls, starts, refusals, effects, fuel *prometheus.CounterVec
	requestTime, callTime, memory, storeTime         *prometheus.HistogramVec
	wait                                             prometheus.Histogram
	storeAway                                        prometheus.Counter
}

// New returns metrics of a program version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), names: newNames(), began: time.Now()}
	m.requests = m.counter("requests_total", "Requests of clients and runs of tasks.", "method", "outcome")
	m.requestTime = m.histogram("request_duration_seconds", "Time from a request to its response, with waits for people.", seconds, "method")
	m.calls = m.counter("calls_total", "Calls of plugins, by clients, tasks and other plugins.", "plugin", "tool", "outcome")
	m.callTime = m.histogram("call_duration_seconds", "Time of a call of a plugin, with its wait for a turn.", seconds, "plugin", "tool")
	m.fuel = m.counter("fuel_total", "Computation of guests, in units of about one instruction.", "plugin")
	m.memory = m.histogram("call_memory_bytes", "Peak linear memory of a guest in a call.", memory, "plugin")
	m.starts = m.counter("starts_total", "Starts of plugins, one for each image of a clean instance.", "plugin")
	m.refusals = m.counter("refusals_total", "Denied effects of plugins, by kind of effect.", "plugin", "family")
	m.effects = m.counter("effects_total", "Performed effects of plugins, by kind of effect.", "plugin", "family")
	m.wait = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "queue_wait_seconds", Help: "Time that calls waited for their turn, without calls that did not wait.", Buckets: seconds})
	m.storeTime = m.histogram("store_duration_seconds", "Time of an operation of the store, with its waits.", seconds, "operation")
	m.storeAway = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "store_unavailable_total", Help: "Operations of the store that did not reach its database."})
	for _, operation := range []string{store.OperationRead, store.OperationWrite} {
		m.storeTime.WithLabelValues(operation)
	}
	m.names.forget = m.forget
	for _, outcome := range []string{protocol.OutcomeOK, protocol.OutcomeInternal, string(runtime.KindLimit)} {
		m.requests.WithLabelValues("tools/call", outcome) // from zero, so that the first one is an increase
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.registry.MustRegister(info, m.wait, m.storeAway, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const (
	namespace = "sallyport"
	// start is the method of a plugin's start, in receipts.
	start = "start"
	// aborted is the outcome of a call whose answer was dropped.
	aborted = "aborted"
)

// The bounds of the buckets of histograms: a call takes from less than a millisecond to limits.deadline, and memory is at
// most 4 GiB.
var (
	seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	memory  = []float64{1 << 20, 4 << 20, 16 << 20, 32 << 20, 64 << 20, 128 << 20, 256 << 20, 1 << 30, 4 << 30}
)

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8})
}

// Call counts a call of a plugin that has ended. It is for hostfuncs.Options.
func (m *Metrics) Call(r receipt.Receipt, by receipt.Caller) {
	if by.Method == start {
		plugin, _ := m.names.pair(r.Plugin, other)
		m.starts.WithLabelValues(plugin).Inc()
		return
	}
	tool := by.Tool
	if tool == "" {
		tool = by.Method // of a resource, a prompt or a completion
	}
	plugin, tool := m.names.pair(r.Plugin, tool)
	outcome := r.Outcome
	if outcome == "" {
		outcome = aborted
	}
	m.calls.WithLabelValues(plugin, tool, outcome).Inc()
	m.callTime.WithLabelValues(plugin, tool).Observe(r.Millis / 1000)
	m.fuel.WithLabelValues(plugin).Add(float64(r.Fuel))
	if r.Memory > 0 {
		m.memory.WithLabelValues(plugin).Observe(float64(r.Memory))
	}
	for _, e := range r.Effects {
		m.effects.WithLabelValues(plugin, e.Family).Add(float64(e.Count))
	}
	for _, d := range r.Denials {
		m.refusals.WithLabelValues(plugin, d.Family).Add(float64(d.Count))
	}
}

// forget removes the series of a tool, and those of its plugin with it if it was the last one.
func (m *Metrics) forget(plugin, tool string, last bool) {
	labels := prometheus.Labels{"plugin": plugin, "tool": tool}
	m.calls.DeletePartialMatch(labels)
	m.callTime.DeletePartialMatch(labels)
	if !last {
		return
	}
	of := prometheus.Labels{"plugin": plugin}
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.starts, m.fuel, m.memory, m.refusals, m.effects} {
		v.DeletePartialMatch(of)
	}
}

// Observe counts a request of a client. It is a protocol.Observer.
func (m *Metrics) Observe(b protocol.Begun) protocol.Observation {
	method, began := b.Method, time.Now()
	switch {
	case b.Task:
		method = "task"
	case method == "":
		method = other
	}
	return protocol.Observation{Ended: func(e protocol.Ended) {
		m.requests.WithLabelValues(method, e.Outcome).Inc()
		m.requestTime.WithLabelValues(method).Observe(time.Since(began).Seconds())
	}}
}
