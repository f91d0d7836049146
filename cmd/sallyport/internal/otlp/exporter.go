// Package otlp sends spans, log records and metrics to a collector of OpenTelemetry: OTLP 1 over HTTP, as JSON.
//
//	e, err := otlp.New(otlp.Options{URL: "http://127.0.0.1:4318", Metrics: read})
//	e.Span(s) // never waits
//	defer e.Close(ctx)
//
// No caller waits for a collector: spans and records wait in bounded buffers, and over them they are dropped and counted.
package otlp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxWaiting is the number of spans, and of records, that wait to be sent, some 4 MB.
	maxWaiting = 4096
	// maxBytes bounds the texts of the records that wait, and maxBody those of one message but for a longer one alone. A
	// line of the audit log may have a megabyte.
	maxBytes = 8 << 20
	maxBody  = 1 << 20
	// batch is the number of spans or records in a message. As many are sent at once, without a wait for more.
	batch = 512
	// spanTime is the longest time from the end of a span to its sending, and metricTime the time between two readings
	// of the metrics, those of the SDKs of OpenTelemetry.
	spanTime   = 5 * time.Second
	metricTime = time.Minute
	// sendTime is the time for one request, and maxTries the number of attempts for one message.
	sendTime = 10 * time.Second
	maxTries = 5
	// maxDelay bounds the wait for the next attempt, also one that the collector asks for.
	maxDelay = 30 * time.Second
	// maxResponse is the number of bytes of a response that are read, for the connection to be used again.
	maxResponse = 64 << 10
)

// Options configure an Exporter. URL is required.
type Options struct {
	// URL is the address of the collector, http or https, without /v1/traces.
	URL string
	// Header has fields of each request, such as a key of the collector.
	Header http.Header
	// Version is that of the program.
	Version string
	// Metrics reads the metrics; nil sends none.
	Metrics func() []Metric
	// Logger receives failures; nil discards them.
	Logger *slog.Logger

	tick, after func(time.Duration) <-chan time.Time // time.Tick and time.After, for tests
}

// Exporter sends until Close. It is safe for concurrent use.
type Exporter struct {
	options Options
	client  *http.Client
	origin  origin
	full    chan struct{} // a batch waits
	stop    context.CancelFunc
	ended   chan struct{}
	last    context.Context // bounds the messages after stop; set before it

	mu      sync.Mutex
	spans   queue
	records queue
}

// queue is the spans or the records that wait, guarded by the exporter's lock.
type queue struct {
	what, path        string
	outer, inner, key string // of the message
	waiting           []any
	bytes             int // of the texts of the records that wait
	dropped           atomic.Uint64
}

// textSize returns the size of the text of a record; 0 for a span, whose texts are bounded.
func textSize(one any) int {
	if r, ok := one.(record); ok {
		return len(*r.Body.String)
	}
	return 0
}

// take removes and returns the first ones that wait, as many as a message has.
func (q *queue) take() (list []any) {
	n, size := 0, 0
	for n < min(batch, len(q.waiting)) && (n == 0 || size+textSize(q.waiting[n]) <= maxBody) {
		size += textSize(q.waiting[n])
		n++
	}
	list = slices.Clone(q.waiting[:n])
	clear(q.waiting[:n]) // the texts are sent, and not held by the rest
	q.waiting = q.waiting[n:]
	q.bytes -= size
	return list
}

// putBack puts ones that were taken before those that wait.
func (q *queue) putBack(list []any) {
	for _, one := range list {
		q.bytes += textSize(one)
	}
	q.waiting = append(list, q.waiting...)
}

func parse(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("is no address, such as http://127.0.0.1:4318")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must be http://HOST:PORT or https://HOST:PORT, as http://127.0.0.1:4318, with a key in telemetry.header")
	}
	return u, nil
}

// New starts an exporter.
func New(o Options) (*Exporter, error) {
	u, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	o.URL = strings.TrimSuffix(u.String(), "/")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.tick == nil {
		o.tick, o.after = time.Tick, time.After
	}
	e := &Exporter{options: o, full: make(chan struct{}, 1), ended: make(chan struct{}),
		spans:   queue{what: "spans", path: "/v1/traces", outer: "resourceSpans", inner: "scopeSpans", key: "spans"},
		records: queue{what: "log records", path: "/v1/logs", outer: "resourceLogs", inner: "scopeLogs", key: "logRecords"}, client: &http.Client{
			Timeout:       sendTime,
			Transport:     http.DefaultTransport.(*http.Transport).Clone(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the header has keys
		}}
	e.origin.resource.Attributes = []Attribute{Text(serviceName, "sallyport"), Text(serviceVersion, o.Version), Text(serviceInstance, rand.Text())}
	e.origin.scope.Name, e.origin.scope.Version = "sallyport", o.Version
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	go e.run(ctx) // ended by Close, which waits for it
	return e, nil
}

// Span sends a span that has ended. It does not wait: over maxWaiting the span is dropped.
func (e *Exporter) Span(s Span) { e.add(&e.spans, s) }

// Record sends a text as a log record of a time. It does not wait: over maxWaiting or maxBytes the record is dropped.
func (e *Exporter) Record(at time.Time, name, text string) {
	e.add(&e.records, record{At: Time(at), Seen: Time(at), Severity: information, Level: "INFO", Event: name, Body: value{String: &text}})
}

func (e *Exporter) add(q *queue, one any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(q.waiting) >= maxWaiting || q.bytes+textSize(one) > maxBytes {
		q.dropped.Add(1)
		return
	}
	q.waiting = append(q.waiting, one)
	q.bytes += textSize(one)
	if len(q.waiting) >= batch || q.bytes >= maxBody {
		select {
		case e.full <- struct{}{}:
		default:
		}
	}
}

// Dropped returns the number of spans that were not sent.
func (e *Exporter) Dropped() uint64 { return e.spans.dropped.Load() }

// Close sends the rest, in one attempt and until ctx is done, and ends the exporter.
func (e *Exporter) Close(ctx context.Context) {
	e.last = ctx
	e.stop()
	<-e.ended
	e.client.CloseIdleConnections()
}

// run sends until ctx is done.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.ended)
	spans, metrics := e.options.tick(spanTime), e.options.tick(metricTime)
	for ctx.Err() == nil {
		select {
		case <-spans:
			e.flushAll(ctx, maxTries)
		case <-e.full:
			e.flushAll(ctx, maxTries)
		case <-metrics:
			e.measure(ctx, maxTries)
		case <-ctx.Done():
		}
	}
	e.flushAll(e.last, 1)
	e.measure(e.last, 1)
}

// flushAll sends the spans and records that wait, each message in a number of attempts.
func (e *Exporter) flushAll(ctx context.Context, tries int) {
	e.flush(ctx, &e.spans, tries)
	e.flush(ctx, &e.records, tries)
}

func (e *Exporter) flush(ctx context.Context, q *queue, tries int) {
	for {
		e.mu.Lock()
		list := q.take()
		e.mu.Unlock()
		if len(list) == 0 {
			return
		}
		body, err := e.origin.message(q.outer, q.inner, q.key, list)
		if err == nil {
			err = e.send(ctx, q.path, body, tries)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil && tries > 1: // Close sends them with the rest
			e.mu.Lock()
			q.putBack(list)
			e.mu.Unlock()
		default:
			n := q.dropped.Add(uint64(len(list)))
			e.options.Logger.Warn(q.what+" are lost: the collector does not take them", "error", err, "lost", n)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// measure sends the metrics of this moment.
func (e *Exporter) measure(ctx context.Context, tries int) {
	if e.options.Metrics == nil {
		return
	}
	body, err := e.origin.message("resourceMetrics", "scopeMetrics", "metrics", e.options.Metrics())
	if err == nil {
		err = e.send(ctx, "/v1/metrics", body, tries)
	}
	if err != nil {
		e.options.Logger.Warn("metrics are not sent: the collector does not take them", "error", err)
	}
}

// send sends a message, with further attempts where the protocol permits them (OTLP 1.3, failures).
func (e *Exporter) send(ctx context.Context, path string, body []byte, tries int) error {
	for try := 1; ; try++ {
		delay, err := e.post(ctx, path, body)
		if err == nil || delay < 0 || try == tries {
			return err
		}
		delay = min(max(delay, time.Second<<(try-1)), maxDelay)
		select {
		case <-e.options.after(delay):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends a message once. A failure comes with the least delay of the next attempt, which is negative if there
// should be none.
func (e *Exporter) post(ctx context.Context, path string, body []byte) (delay time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.options.URL+path, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, values := range e.options.Header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "sallyport/"+e.options.Version)
	resp, err := e.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxResponse)
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16)
		return time.Duration(seconds) * time.Second, fmt.Errorf("%s answers %s", path, resp.Status)
	}
	return -1, fmt.Errorf("%s answers %s", path, resp.Status)
}
