package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Waited counts a call that waited for its turn. It is for runtime.EngineOptions.
func (m *Metrics) Waited(d time.Duration) { m.wait.Observe(d.Seconds()) }

// ReadEngine reads the numbers of an engine at each scrape.
func (m *Metrics) ReadEngine(stats func() runtime.Stats) {
	m.registry.MustRegister(&gauges[runtime.Stats]{stats, []gauge[runtime.Stats]{
		newGauge("engine_active", "Calls that run or wait, and compilations.", prometheus.GaugeValue, func(s runtime.Stats) float64 { return float64(s.Active) }),
		newGauge("queue_length", "Calls that wait for their turn.", prometheus.GaugeValue, func(s runtime.Stats) float64 { return float64(s.Waiting) }),
		newGauge("kept_instances", "Idle instances of sessions and of plugins with one instance.", prometheus.GaugeValue, func(s runtime.Stats) float64 { return float64(s.Kept) }),
		newGauge("kept_bytes", "Memory of kept instances.", prometheus.GaugeValue, func(s runtime.Stats) float64 { return float64(s.KeptBytes) }),
		newGauge("modules", "Distinct modules of plugins.", prometheus.GaugeValue, func(s runtime.Stats) float64 { return float64(s.Modules) }),
		newGauge("loaded_bytes", "Memory of the code and the images of all modules.", prometheus.GaugeValue, func(s runtime.Stats) float64 { return float64(s.Loaded) }),
		newGauge("compilations_total", "Modules compiled, without those read from the cache.", prometheus.CounterValue, func(s runtime.Stats) float64 { return float64(s.Compiled) }),
	}})
}

// ReadServer reads the numbers of a server at each scrape.
func (m *Metrics) ReadServer(stats func() protocol.Stats) {
	m.registry.MustRegister(&gauges[protocol.Stats]{stats, []gauge[protocol.Stats]{
		newGauge("requests_in_flight", "Requests without a response, without subscriptions.", prometheus.GaugeValue, func(s protocol.Stats) float64 { return float64(s.Requests) }),
		newGauge("sessions", "Sessions of clients and requests without one.", prometheus.GaugeValue, func(s protocol.Stats) float64 { return float64(s.Connections) }),
		newGauge("tasks_running", "Tasks that run in this process.", prometheus.GaugeValue, func(s protocol.Stats) float64 { return float64(s.Tasks) }),
		taskGauge(task.Working, func(c task.Counts) int { return c.Working }),
		taskGauge(task.Input, func(c task.Counts) int { return c.Input }),
		taskCounter(task.Completed, func(c task.Counts) uint64 { return c.Completed }),
		taskCounter(task.Failed, func(c task.Counts) uint64 { return c.Failed }),
		taskCounter(task.Cancelled, func(c task.Counts) uint64 { return c.Cancelled }),
	}})
}

func taskGauge(s task.Status, of func(task.Counts) int) gauge[protocol.Stats] {
	return newGauge("tasks", "Tasks under way by status, the same number at each host of a store.", prometheus.GaugeValue,
		func(s protocol.Stats) float64 { return float64(of(s.TaskCounts)) }, "status", string(s))
}

func taskCounter(s task.Status, of func(task.Counts) uint64) gauge[protocol.Stats] {
	return newGauge("tasks_ended_total", "Tasks that this process brought to an end, by status.", prometheus.CounterValue,
		func(s protocol.Stats) float64 { return float64(of(s.TaskCounts)) }, "status", string(s))
}

// Took counts an operation of the store. It is for store.Options.
func (m *Metrics) Took(operation string, d time.Duration, err error) {
	m.storeTime.WithLabelValues(operation).Observe(d.Seconds())
	if errors.Is(err, store.ErrUnavailable) {
		m.storeAway.Inc()
	}
}

// gauges are the metrics of one component, whose numbers are read together.
type gauges[S any] struct {
	stats func() S
	all   []gauge[S]
}

type gauge[S any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(S) float64
}

// newGauge returns a metric with constant labels, names and values in turn.
func newGauge[S any](name, help string, kind prometheus.ValueType, of func(S) float64, labels ...string) gauge[S] {
	constant := prometheus.Labels{}
	for i := 0; i < len(labels); i += 2 {
		constant[labels[i]] = labels[i+1]
	}
	return gauge[S]{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, constant), kind, of}
}

// Describe lists the metrics.
func (g *gauges[S]) Describe(to chan<- *prometheus.Desc) {
	for _, one := range g.all {
		to <- one.desc
	}
}

// Collect reads the numbers.
func (g *gauges[S]) Collect(to chan<- prometheus.Metric) {
	s := g.stats()
	for _, one := range g.all {
		to <- prometheus.MustNewConstMetric(one.desc, one.kind, one.of(s))
	}
}
