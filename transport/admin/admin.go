// Package admin serves the state of the process to its operator over HTTP:
//
//	/metrics         the metrics, in the text format of Prometheus
//	/health          200 while the process answers
//	/ready           200 if it should get requests, else 503 with the reason
//	/debug/pprof/    profiles of the Go runtime, for this machine alone
//
// There is no token: it listens on loopback or on a unix socket, unless the operator allows other machines to connect.
// On loopback the Host of a request must be loopback too, so that no web page can read it by DNS rebinding, and requests
// that a browser marks as those of another page are refused, so that none can start profiles.
//
//	s, err := admin.Listen(admin.Options{Addr: "127.0.0.1:9470", Metrics: h, Ready: ready})
//	defer s.Close()
package admin

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/transport/listener"
)

const (
	// readTime is the time to read a request.
	readTime = 10 * time.Second
	// writeTime is the time to write a response. It is above the usual length of a profile, 30 s.
	writeTime = 2 * time.Minute
	// maxConnections bounds the open connections. A new one replaces the oldest.
	maxConnections = 64
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
)

// Options configure a Server. Addr is required.
type Options struct {
	// Addr is HOST:PORT, or unix:/PATH of a socket. Port 0 chooses a free one.
	Addr string
	// Remote permits an Addr that other machines can reach. It serves no profiles.
	Remote bool
	// Metrics serves /metrics; nil serves none.
	Metrics http.Handler
	// Ready returns the reason why this process should get no requests, nil if it should. A nil Ready is always ready.
	Ready func() error
	// Logger receives errors of connections; nil discards them.
	Logger *slog.Logger
}

// Server serves until Close. It is safe for concurrent use.
type Server struct {
	server *http.Server
	url    string
	ended  chan struct{} // closed when its goroutine has ended
}

// Check refuses an address that other machines can reach without Options.Remote.
func (o *Options) Check() error {
	if path, ok := strings.CutPrefix(o.Addr, "unix:"); ok {
		if path == "" {
			return fmt.Errorf("the address %q names no socket: write unix:/PATH", o.Addr)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil || port == "" {
		return fmt.Errorf("the address %q is neither HOST:PORT nor unix:/PATH", o.Addr)
	}
	if !o.Remote && !loopback(host) {
		return fmt.Errorf("%s can be reached from other machines, and metrics need no token: add --admin-remote, or listen on 127.0.0.1:%s", o.Addr, port)
	}
	return nil
}

// loopback accepts the name localhost and literal addresses, without name resolution.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// Listen checks the options, opens the address and serves it.
func Listen(o Options) (*Server, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	ln, err := o.listen()
	if err != nil {
		return nil, err
	}
	s := &Server{ended: make(chan struct{}), url: "http://" + ln.Addr().String(), server: &http.Server{
		Handler: o.handler(), ReadTimeout: readTime, WriteTimeout: writeTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}
	if ln.Addr().Network() == "unix" {
		s.url = o.Addr
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(listener.NewPlaces(maxConnections).Listen(ln)) // returns after Close
	}()
	return s, nil
}

func (o *Options) listen() (net.Listener, error) {
	if path, ok := strings.CutPrefix(o.Addr, "unix:"); ok {
		return listener.Unix(path)
	}
	ln, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	// localhost is only a name: the resolver could map it to any address.
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !o.Remote && !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not a loopback address here: listen on 127.0.0.1", o.Addr), ln.Close())
	}
	return ln, nil
}

// URL returns the address for programs on this machine, without a path.
func (s *Server) URL() string { return s.url }

// Close stops the server.
func (s *Server) Close() error {
	err := s.server.Close()
	<-s.ended
	return err
}

func (o *Options) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	m.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.Ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	if o.Metrics != nil {
		m.Handle("GET /metrics", o.Metrics)
	}
	socket := strings.HasPrefix(o.Addr, "unix:")
	if !o.Remote || socket { // a profile costs processor time, and shows what the process does
		m.HandleFunc("GET /debug/pprof/", pprof.Index)
		m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		m.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	if o.Remote || socket {
		return m
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(hostOf(r.Host)) {
			say(w, http.StatusForbidden, "the Host is not of this machine")
			return
		}
		if foreign(r.Header) {
			say(w, http.StatusForbidden, "web pages may not read this")
			return
		}
		m.ServeHTTP(w, r)
	})
}

// foreign reports whether a browser sent the request for a page of another origin. Programs that are no browser send
// neither header.
func foreign(h http.Header) bool {
	site := h.Get("Sec-Fetch-Site")
	return h.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin"
}

// hostOf returns the host of HOST:PORT, HOST or [HOST].
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return strings.Trim(s, "[]")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
