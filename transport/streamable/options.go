package streamable

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Defaults of Options.
const (
	// DefaultAddr is where Sallyport listens, on this machine only.
	DefaultAddr = "127.0.0.1:8470"
	// DefaultPath is the endpoint.
	DefaultPath = "/mcp"
	// MaxMessage is the largest body, 16 MiB: a base64 image or a file fits, and one request cannot
	// take the machine's memory.
	MaxMessage = 16 << 20

	defaultConnections = 1024 // under the usual limit of open files
	defaultBodies      = 256 << 20
	defaultSessions    = 1024
	// defaultSessionIdle is a long coffee break; a client whose session has gone begins a new one.
	defaultSessionIdle = time.Hour
	// defaultDrain is under the 10 s that container managers give before they kill.
	defaultDrain = 8 * time.Second
)

// Verifier knows tokens. *auth.Tokens is the implementation.
type Verifier interface {
	// Verify returns the name of a token, and a proof that tells it from other tokens of that name. It may be called
	// from any goroutine.
	Verify(token string) (name, proof string, ok bool)
}

// Rate is how many requests are served in the long run, and how many at once after a rest.
type Rate struct {
	// PerSecond of 0 is the default: none on loopback and unix sockets, else 50 with a burst of 200.
	// Negative is no limit.
	PerSecond float64
	// Burst of 0 is four seconds' worth.
	Burst int
}

// Options are the settings of a handler and its listener. All are optional.
type Options struct {
	// Addr is HOST:PORT, or unix:/PATH of a socket; "" is 127.0.0.1:8470. Port 0 takes a free one.
	Addr string
	// Path is the endpoint; "" is /mcp.
	Path string
	// LegacySSE serves the transport of 2024-11-05 too, at /sse and /messages.
	LegacySSE bool
	// Origins are the web origins, such as https://app.example.com, whose pages may call. Pages of
	// this machine may call a loopback listener anyway.
	Origins []string
	// Tokens are who may call. Nil lets anybody of this machine, as the principal "anonymous". A unix
	// socket needs none: its callers are known by their user, unless a proxy is in front.
	Tokens Verifier
	// TLSCert and TLSKey are PEM files.
	TLSCert, TLSKey string
	// BehindProxy says that all requests come through a proxy that ends TLS, checks the Host and
	// appends the client's address to X-Forwarded-For.
	BehindProxy bool
	// Rate limits the requests of each address and of each token.
	Rate Rate
	// MaxMessage is the largest body, in bytes; 0 means 16 MiB.
	MaxMessage int
	// Sessions is how many legacy sessions there are at once; 0 means 1024.
	Sessions int
	// SessionIdle is how long an unused session is kept; 0 means an hour.
	SessionIdle time.Duration
	// Connections is how many are open at once (see listener.Places), and how many requests are in flight, of which a
	// caller has at most three quarters. 0 means 1024.
	Connections int
	// Bodies is the memory for all messages over 64 KiB that are read or served, in bytes, of which a caller has at most a
	// quarter, or twice MaxMessage. 0 means 256 MiB.
	Bodies int
	// Drain is how long requests may go on at the end; 0 means 8 s, negative not at all.
	Drain time.Duration
	// Logger gets what clients cannot be told; nil drops it.
	Logger *slog.Logger
}

func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Addr = orDefault(d.Addr, DefaultAddr)
	d.Path = orDefault(d.Path, DefaultPath)
	d.MaxMessage = orDefault(max(d.MaxMessage, 0), MaxMessage)
	d.Sessions = orDefault(max(d.Sessions, 0), defaultSessions)
	d.SessionIdle = orDefault(max(d.SessionIdle, 0), defaultSessionIdle)
	d.Connections = orDefault(max(d.Connections, 0), defaultConnections)
	d.Bodies = orDefault(max(d.Bodies, 0), defaultBodies)
	d.Drain = max(orDefault(d.Drain, defaultDrain), 0)
	d.Origins = slices.Clone(d.Origins)
	d.Rate = d.rate()
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return &d
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (o *Options) rate() Rate {
	r := o.Rate
	if r.PerSecond == 0 && o.Local() {
		r.PerSecond = -1
	}
	r.PerSecond = orDefault(r.PerSecond, 50)
	r.Burst = orDefault(r.Burst, max(1, int(4*r.PerSecond)))
	return r
}

// socket returns the path of a unix socket, "" for an internet address.
func (o *Options) socket() string {
	path, ok := strings.CutPrefix(o.Addr, "unix:")
	if !ok {
		return ""
	}
	return path
}

// network is tcp4 for an IPv4 address: net.Listen takes 0.0.0.0 for all addresses of both versions, and a person who writes
// it for those of IPv4. [::] is both.
func (o *Options) network() string {
	host, _, err := net.SplitHostPort(o.Addr)
	if ip, bad := netip.ParseAddr(host); err == nil && bad == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// loopback reports whether Addr is reached from this machine only, over the network.
func (o *Options) loopback() bool {
	host, _, err := net.SplitHostPort(orDefault(o.Addr, DefaultAddr))
	return err == nil && isLoopback(host)
}

// Local reports whether callers are this machine's own.
func (o *Options) Local() bool {
	return (o.socket() != "" || o.loopback()) && !o.BehindProxy
}

// isLoopback takes the name localhost and literal addresses; it asks no resolver.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ErrNoTokens is part of the errors of Check about an address that needs tokens.
var ErrNoTokens = errors.New("add tokens (sallyport token NAME)")

// Check refuses a plan that would let strangers in, or in clear text, and settings that do not go
// together. The error says what to do.
func (o *Options) Check() error {
	o = o.withDefaults()
	if !strings.HasPrefix(o.Path, "/") {
		return fmt.Errorf("the path %q must begin with a slash", o.Path)
	}
	for _, origin := range o.Origins {
		if normalOrigin(origin) == "" {
			return fmt.Errorf("the origin %q is not of the form https://app.example.com", origin)
		}
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return errors.New("TLS needs both --tls-cert and --tls-key")
	}
	if strings.HasPrefix(o.Addr, "unix:") {
		return o.checkSocket()
	}
	if _, port, err := net.SplitHostPort(o.Addr); err != nil || port == "" {
		return fmt.Errorf("the address %q is neither HOST:PORT nor unix:/PATH", o.Addr)
	}
	return o.checkReach()
}

func (o *Options) checkSocket() error {
	switch {
	case o.socket() == "":
		return fmt.Errorf("the address %q names no socket: write unix:/PATH", o.Addr)
	case o.TLSCert != "":
		return errors.New("a unix socket has no TLS: leave --tls-cert and --tls-key out")
	case o.BehindProxy && o.Tokens == nil:
		return fmt.Errorf("%s behind a proxy can be reached from other machines: %w", o.Addr, ErrNoTokens)
	}
	return nil
}

// checkReach is about addresses that other machines can reach.
func (o *Options) checkReach() error {
	if o.Local() {
		return nil
	}
	if o.loopback() {
		if o.Tokens == nil {
			return fmt.Errorf("%s behind a proxy can be reached from other machines: %w", o.Addr, ErrNoTokens)
		}
		return nil
	}
	_, port, _ := net.SplitHostPort(o.Addr)
	const reached, tls, otherwise = "%s can be reached from other machines", "--tls-cert and --tls-key, or --behind-proxy", "; or listen on 127.0.0.1:%s"
	clear := o.TLSCert == "" && !o.BehindProxy
	switch {
	case o.Tokens == nil && clear:
		return fmt.Errorf(reached+": %w, and "+tls+otherwise, o.Addr, ErrNoTokens, port)
	case o.Tokens == nil:
		return fmt.Errorf(reached+": %w"+otherwise, o.Addr, ErrNoTokens, port)
	case clear:
		return fmt.Errorf(reached+": add "+tls+otherwise, o.Addr, port)
	}
	return nil
}

// normalOrigin returns scheme://host[:port] in lower case and without the scheme's own port, ""
// if s is no web origin, which is written without escapes (RFC 6454, section 6.2).
func normalOrigin(s string) string {
	u, err := url.Parse(strings.ToLower(s))
	if err != nil || strings.Contains(s, "%") || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	if u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#") {
		return ""
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Scheme + "://" + u.Host
}
