package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/metrics"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/transport/admin"
)

// observed is the part of a run that its operator observes. The zero value observes nothing.
type observed struct {
	// call, waited and request observe calls, their waits and requests; nil if nothing does.
	call    func(receipt.Receipt, receipt.Caller)
	waited  func(time.Duration)
	request protocol.Observer

	metrics *metrics.Metrics // nil without an address
	server  *admin.Server    // likewise
	ready   readiness
}

// readiness is the answer to the question whether this process should get requests. It is safe for concurrent use.
type readiness struct {
	loaded atomic.Bool
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
	return nil
}

// observe serves the operator's address, before plugins are loaded.
func observe(ctx context.Context, s *settings.Settings, std stdio, log *slog.Logger) (*observed, error) {
	o := &observed{ready: readiness{ending: ctx.Done()}}
	addr := s.Text("admin.listen")
	if addr == "" {
		return o, nil
	}
	m := metrics.New(host.Version())
	o.metrics, o.call, o.waited, o.request = m, m.Call, m.Waited, m.Observe
	var err error
	o.server, err = admin.Listen(admin.Options{Addr: addr, Remote: s.Bool("admin.remote"), Metrics: m.Handler(), Ready: o.ready.check, Logger: log})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, ui.Hint(err, "another program serves there; choose another port with --admin 127.0.0.1:PORT")
	}
	if err != nil {
		return nil, fmt.Errorf("admin.listen: %w", err)
	}
	fmt.Fprintf(std.err, "metrics, health, readiness and profiles are on %s\n", o.server.URL())
	return o, nil
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

// close stops serving, at the end of the run.
func (o *observed) close() {
	if o.server != nil {
		_ = o.server.Close() // fails if closed already
	}
}
