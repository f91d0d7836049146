package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/sallyport-mcp/sallyport/transport/listener"
)

const (
	// headerTimeout is the time to read the request line and headers, and for the TLS handshake.
	headerTimeout = 10 * time.Second
	// idleTimeout is the time for which an idle connection is kept open.
	idleTimeout = 2 * time.Minute
	// maxHeader bounds the headers of a request, in bytes: enough for a few dozen Mcp-Param headers and a long token.
	maxHeader = 32 << 10
	// closeWait is the time for cancelled requests to return.
	closeWait = time.Second
)

// Listener is an open address.
type Listener struct {
	options *Options
	ln      net.Listener
	tls     *tls.Config
}

// Listen checks the options and opens the address.
func Listen(o *Options) (*Listener, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	l := &Listener{options: o.withDefaults()}
	if err := l.loadTLS(); err != nil {
		return nil, err
	}
	ln, err := l.listen()
	if err != nil {
		return nil, err
	}
	places := listener.NewPlaces(l.options.Connections)
	places.Full = newNotice(l.options.Logger, "http.connections").hit
	l.ln = places.Listen(ln)
	return l, nil
}

func (l *Listener) loadTLS() error {
	o := l.options
	if o.TLSCert == "" {
		return nil
	}
	cert, err := loadCertificate(o.TLSCert, o.TLSKey, o.Logger)
	if err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	l.tls = &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12}
	return nil
}

func (l *Listener) listen() (net.Listener, error) {
	if path := l.options.socket(); path != "" {
		return listener.Unix(path)
	}
	ln, err := net.Listen(l.options.network(), l.options.Addr)
	if err != nil {
		return nil, err
	}
	// localhost is only a name: the resolver could map it to any address.
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && l.options.loopback() && !tcp.IP.IsLoopback() {
		ln.Close()
		return nil, fmt.Errorf("%s is not a loopback address here: listen on 127.0.0.1", l.options.Addr)
	}
	return ln, nil
}

// Addr returns the open address, with the chosen port.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// URL returns the endpoint for clients on this machine.
func (l *Listener) URL() string {
	if l.options.socket() != "" {
		return l.options.Addr + l.options.Path
	}
	scheme := "http"
	if l.tls != nil {
		scheme = "https"
	}
	return scheme + "://" + l.ln.Addr().String() + l.options.Path
}

// Close closes a listener without Serve.
func (l *Listener) Close() error { return l.ln.Close() }

// Serve serves h until ctx is done. Then it accepts no more requests, gives those in flight Options.Drain to finish,
// cancels them, and closes h. A request that still comes on an open connection is refused with Retry-After. That end is
// not an error.
func (l *Listener) Serve(ctx context.Context, h *Handler) error {
	srv := l.server(ctx, h)
	failed := make(chan error, 1)
	go func() { failed <- l.run(srv) }()
	defer h.Close()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	l.shutdown(srv, h)
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (l *Listener) server(ctx context.Context, h *Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		TLSConfig:         l.tls,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(l.options.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext:       withConn,
		ConnState:         noteState,
	}
}

// noteState records whether a connection is idle.
func noteState(c net.Conn, state http.ConnState) {
	if placed := listener.Of(c); placed != nil && (state == http.StateActive || state == http.StateIdle) {
		placed.Busy(state == http.StateActive)
	}
}

func (l *Listener) run(srv *http.Server) error {
	if l.tls != nil {
		return srv.ServeTLS(l.ln, "", "")
	}
	return srv.Serve(l.ln)
}

func (l *Listener) shutdown(srv *http.Server, h *Handler) {
	h.settle()
	if waitFor(srv, l.options.Drain) {
		return
	}
	h.cancel()
	if !waitFor(srv, closeWait) {
		l.options.Logger.Warn("requests did not stop when they were cancelled")
	}
	srv.Close()
}

func waitFor(srv *http.Server, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	return srv.Shutdown(ctx) == nil
}
