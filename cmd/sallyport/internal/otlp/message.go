package otlp

import (
	"encoding/json"
	"strconv"
	"time"
)

// The messages are those of opentelemetry-proto 1.3 in their JSON mapping: numbers of 64 bits are strings, and the
// numbers of a trace and a span are hexadecimal.

// Kind is the kind of a span.
type Kind int

// Kinds of spans.
const (
	Internal Kind = 1
	Server   Kind = 2
)

// Span is one timed operation of a trace.
type Span struct {
	TraceID    string      `json:"traceId"` // 32 hexadecimal digits
	SpanID     string      `json:"spanId"`  // 16 hexadecimal digits
	ParentID   string      `json:"parentSpanId,omitempty"`
	TraceState string      `json:"traceState,omitempty"`
	Name       string      `json:"name"`
	Kind       Kind        `json:"kind"`
	Start      Time        `json:"startTimeUnixNano"`
	End        Time        `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Status     Status      `json:"status"`
}

// Status is the outcome of a span.
type Status struct {
	Code    int    `json:"code,omitempty"` // 0 unset, 2 error
	Message string `json:"message,omitempty"`
}

// Failed is the code of a Status of an error.
const Failed = 2

// Time is a moment, in nanoseconds since 1970.
type Time time.Time

// MarshalJSON writes a decimal number as a string.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(time.Time(t).UnixNano(), 10)), nil
}

// Attribute is a named value.
type Attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String *string `json:"stringValue,omitempty"`
	Int    *string `json:"intValue,omitempty"`
}

// Text returns an attribute with a text.
func Text(key, text string) Attribute { return Attribute{key, value{String: &text}} }

// Int returns an attribute with a number.
func Int(key string, n int64) Attribute {
	s := strconv.FormatInt(n, 10)
	return Attribute{key, value{Int: &s}}
}

// record is a log record, whose body is a text.
type record struct {
	At       Time   `json:"timeUnixNano"`
	Seen     Time   `json:"observedTimeUnixNano"`
	Severity int    `json:"severityNumber"`
	Level    string `json:"severityText"`
	Event    string `json:"eventName"`
	Body     value  `json:"body"`
}

// information is the severity of a record that reports no fault.
const information = 9

// Metric is one metric with its points. One of Gauge, Sum and Histogram is set.
type Metric struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Unit        string     `json:"unit,omitempty"`
	Gauge       *Gauge     `json:"gauge,omitempty"`
	Sum         *Sum       `json:"sum,omitempty"`
	Histogram   *Histogram `json:"histogram,omitempty"`
}

// Gauge holds present values.
type Gauge struct {
	Points []Number `json:"dataPoints"`
}

// Sum holds counters since the start of the process.
type Sum struct {
	Points      []Number    `json:"dataPoints"`
	Temporality Temporality `json:"aggregationTemporality"`
	Monotonic   bool        `json:"isMonotonic"`
}

// Histogram holds distributions since the start of the process.
type Histogram struct {
	Points      []Distribution `json:"dataPoints"`
	Temporality Temporality    `json:"aggregationTemporality"`
}

// Temporality tells the beginning of the time that a point covers.
type Temporality int

// Cumulative points cover the time since the start of the process.
const Cumulative Temporality = 2

// Number is a point of a Gauge or a Sum.
type Number struct {
	Attributes []Attribute `json:"attributes,omitempty"`
	Start      Time        `json:"startTimeUnixNano"`
	At         Time        `json:"timeUnixNano"`
	Value      float64     `json:"asDouble"`
}

// Distribution is a point of a Histogram. Counts has one bucket more than Bounds.
type Distribution struct {
	Attributes []Attribute `json:"attributes,omitempty"`
	Start      Time        `json:"startTimeUnixNano"`
	At         Time        `json:"timeUnixNano"`
	Count      Count       `json:"count"`
	Sum        float64     `json:"sum"`
	Counts     []Count     `json:"bucketCounts"`
	Bounds     []float64   `json:"explicitBounds"`
}

// Count is a number of observations.
type Count uint64

// MarshalJSON writes a decimal number as a string.
func (c Count) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(c), 10)), nil
}

// origin is the sender of a message: the process and its program.
type origin struct {
	resource struct {
		Attributes []Attribute `json:"attributes"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
}

// message returns the body of a request: list is under the key scoped, below outer.
func (o *origin) message(outer, inner, key string, list any) ([]byte, error) {
	scoped := map[string]any{"scope": o.scope, key: list}
	return json.Marshal(map[string]any{outer: []any{map[string]any{"resource": o.resource, inner: []any{scoped}}}})
}
