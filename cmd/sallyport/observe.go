package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/metrics"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/otlp"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/transport/admin"
	"github.com/sallyport-mcp/sallyport/transport/auth"
)

// lastSend is the time to send the last telemetry.
const lastSend = 2 * time.Second

// observed is the part of a run that its operator observes. The zero value observes nothing.
type observed struct {
	// call, waited and request observe calls, their waits and requests; nil if nothing does.
	call    func(receipt.Receipt, receipt.Caller)
	waited  func(time.Duration)
	took    func(operation string, d time.Duration, err error)
	request protocol.Observer
	audited func(at time.Time, line []byte) // sends lines of the audit log

	metrics  *metrics.Metrics // nil without an address and telemetry
	server   *admin.Server    // nil without an address
	exporter *otlp.Exporter   // nil without telemetry
	ready    readiness
}

// readiness is the answer to the question whether this process should get requests. It is safe for concurrent use.
type readiness struct {
	loaded atomic.Bool
	lock   atomic.Pointer[lock.Lock] // nil until it is open
	ending <-chan struct{}
}

// check returns why this process should get no requests.
func (r *readiness) check() error {
	select {
	case <-r.ending:
		return errors.New("the host is ending")
	default:
	}
	if !r.loaded.Load() {
		return errors.New("plugins are being loaded")
	}
	if l := r.lock.Load(); l != nil && l.Unread() != nil {
		return fmt.Errorf("the approved plugins are not known: %w", l.Unread())
	}
	return nil
}

// observe serves the operator's address, before plugins are loaded, and begins to send telemetry.
func observe(ctx context.Context, s *settings.Settings, std stdio, log *slog.Logger) (*observed, error) {
	o := &observed{ready: readiness{ending: ctx.Done()}}
	if s.Text("admin.listen") == "" && s.Text("telemetry.url") == "" {
		return o, nil
	}
	m := metrics.New(host.Version())
	o.metrics, o.call, o.waited, o.took, o.request = m, m.Call, m.Waited, m.Took, m.Observe
	if err := o.send(s, log); err != nil {
		return nil, err
	}
	if err := o.listen(s, std, log); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// listen serves the operator's address.
func (o *observed) listen(s *settings.Settings, std stdio, log *slog.Logger) (err error) {
	addr := s.Text("admin.listen")
	if addr == "" {
		return nil
	}
	o.server, err = admin.Listen(admin.Options{Addr: addr, Remote: s.Bool("admin.remote"), Metrics: o.metrics.Handler(), Ready: o.ready.check, Logger: log})
	if errors.Is(err, syscall.EADDRINUSE) {
		return ui.Hint(err, "another program serves there; choose another port with --admin 127.0.0.1:PORT")
	}
	if err != nil {
		return fmt.Errorf("admin.listen: %w", err)
	}
	fmt.Fprintf(std.err, "metrics, health, readiness and profiles are on %s\n", o.server.URL())
	return nil
}

// send begins to send traces and metrics to a collector.
func (o *observed) send(s *settings.Settings, log *slog.Logger) error {
	url := s.Text("telemetry.url")
	if url == "" {
		return nil
	}
	header, err := headerOf(s.Text("telemetry.header"))
	if err != nil {
		return fmt.Errorf("telemetry.header: %w", err)
	}
	e, err := otlp.New(otlp.Options{URL: url, Header: header, Version: host.Version(), Metrics: o.metrics.Export, Logger: log})
	if err != nil {
		return fmt.Errorf("telemetry.url: %w", err)
	}
	o.exporter = e
	if s.Bool("telemetry.audit") {
		o.audited = func(at time.Time, line []byte) { e.Record(at, "sallyport.audit", string(line)) }
	}
	count, measure := o.call, o.request
	o.call = func(r receipt.Receipt, by receipt.Caller) {
		count(r, by)
		e.Call(r, by)
	}
	o.request = func(b protocol.Begun) protocol.Observation {
		counted, traced := measure(b), e.Observe(b)
		return protocol.Observation{Span: traced.Span, Ended: func(end protocol.Ended) {
			counted.Ended(end)
			traced.Ended(end)
		}}
	}
	return nil
}

// headerOf reads the header field of a file; "" is no file.
func headerOf(file string) (http.Header, error) {
	if file == "" {
		return nil, nil
	}
	line, err := auth.ReadSecret(file)
	if err != nil {
		return nil, err
	}
	fields, err := textproto.NewReader(bufio.NewReader(strings.NewReader(line + "\n\n"))).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("%q holds no line of the form NAME: VALUE", file)
	}
	return http.Header(fields), nil
}

// await reports readiness once the plugins that exist now are loaded.
func (o *observed) await(ctx context.Context, r *registry.Registry) (stop func()) {
	if o.server == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var awaiting sync.WaitGroup
	awaiting.Go(func() {
		r.AwaitComplete(ctx)
		if ctx.Err() == nil {
			o.ready.loaded.Store(true)
		}
	})
	return func() {
		cancel()
		awaiting.Wait()
	}
}

// read adds the numbers of the components to the metrics.
func (o *observed) read(h *host.Host, server *protocol.Server) {
	if o.metrics != nil {
		o.metrics.ReadEngine(h.Engine.Stats)
		o.metrics.ReadServer(server.Stats)
	}
}

// close stops serving and sends the last telemetry, at the end of the run.
func (o *observed) close() {
	if o.exporter != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastSend)
		defer cancel()
		o.exporter.Close(ctx)
	}
	if o.server != nil {
		_ = o.server.Close() // fails if closed already
	}
}
