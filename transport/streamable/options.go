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

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
	"github.com/sallyport-mcp/sallyport/transport/forwarded"
)

// Defaults of Options.
const (
	// defaultAddr is the default address, on loopback.
	defaultAddr = "127.0.0.1:8470"
	// defaultPath is the default endpoint.
	defaultPath = "/mcp"
	// maxMessage is the default limit of a body, 16 MiB: enough for a base64 image or a file, while one request
	// cannot exhaust memory.
	maxMessage = 16 << 20

	defaultConnections = 1024 // below the usual limit of open files
	defaultBodies      = 256 << 20
	defaultSessions    = 1024
	// defaultDrain is below the 10 s after which container managers kill a process.
	defaultDrain = 8 * time.Second
)

// Verifier authenticates tokens. *auth.Tokens is the implementation.
type Verifier interface {
	// Verify returns the name of a token, and a proof that is distinct for each token, even of the same name. It must
	// be safe for concurrent use.
	Verify(token string) (name, proof string, ok bool)
}

// Rate is a long-term request rate with a burst.
type Rate struct {
	// PerSecond is the rate. 0 means no limit if all callers are on this machine (see Options.Local), and otherwise 50
	// with a burst of 200. Negative is unlimited.
	PerSecond float64
	// Burst is the number of requests at once after idle time; 0 means four seconds of the rate.
	Burst int
}

// Options configure a handler and its listener. All fields are optional, one for each setting of the operator, in a flat
// list as in net/http.Server.
type Options struct {
	// Addr is HOST:PORT, or unix:/PATH of a socket; "" is 127.0.0.1:8470. Port 0 chooses a free one.
	Addr string
	// Path is the endpoint; "" is /mcp.
	Path string
	// LegacySSE also serves the transport of 2024-11-05, at /sse and /messages.
	LegacySSE bool
	// Origins are the permitted web origins, such as https://app.example.com. Pages of this machine are always
	// permitted on a loopback listener.
	Origins []string
	// Tokens authenticate callers. Nil admits every caller on this machine, as the principal "anonymous". A unix
	// socket needs none: its callers are identified by their user, unless it is behind a proxy.
	Tokens Verifier
	// OAuth authenticates callers by access tokens, besides Tokens; nil is no sign-in.
	OAuth *oauth.Resource
	// TLSCert and TLSKey are paths of PEM files.
	TLSCert, TLSKey string
	// BehindProxy means that all requests come through a proxy that terminates TLS, checks the Host and appends the
	// client's address to X-Forwarded-For.
	BehindProxy bool
	// Proxies are the proxies in front, whose headers name the client: Forwarded and X-Forwarded-*. With BehindProxy and
	// none named, the last address of X-Forwarded-For is believed from every peer; with some, other peers are refused
	// unless they use TLS.
	Proxies forwarded.Networks
	// Clients are the addresses that may send requests, besides the peers of a socket; none means all.
	Clients forwarded.Networks
	// Leaving is closed when the host will stop: from then on clients are asked to use another connection. It may be nil.
	Leaving <-chan struct{}
	// Rate limits the requests of each address and of each principal. On a unix socket only a proxy tells addresses.
	Rate Rate
	// MaxMessage bounds a body, in bytes; 0 means 16 MiB.
	MaxMessage int
	// Sessions bounds the legacy sessions; 0 means 1024.
	Sessions int
	// Store has the legacy sessions, so that other hosts with it serve them too, each with up to Sessions at a time, and a
	// principal with up to 1024 in all; nil keeps them in memory. The handler does not close it.
	Store *store.Store
	// Connections bounds the open connections (see listener.Places), and the requests in flight, of which a caller
	// may have three quarters. 0 means 1024.
	Connections int
	// Bodies bounds the memory for all messages over 64 KiB in progress, in bytes. A caller may have a quarter, or
	// twice MaxMessage if that is more. 0 means 256 MiB.
	Bodies int
	// Drain is the time for requests to finish at shutdown; 0 means 8 s, negative means none.
	Drain time.Duration
	// Logger receives errors that cannot be sent to clients; nil discards them.
	Logger *slog.Logger
}

func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Addr = orDefault(d.Addr, defaultAddr)
	d.Path = orDefault(d.Path, defaultPath)
	d.MaxMessage = orDefault(max(d.MaxMessage, 0), maxMessage)
	d.Sessions = orDefault(max(d.Sessions, 0), defaultSessions)
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

// socket returns the path of a unix socket, or "" for an internet address.
func (o *Options) socket() string {
	path, ok := strings.CutPrefix(o.Addr, "unix:")
	if !ok {
		return ""
	}
	return path
}

// network returns tcp4 for an IPv4 address: net.Listen would listen on IPv6 too for 0.0.0.0. [::] means both.
func (o *Options) network() string {
	host, _, err := net.SplitHostPort(o.Addr)
	if ip, bad := netip.ParseAddr(host); err == nil && bad == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// authenticates reports whether callers need a token of some kind.
func (o *Options) authenticates() bool { return o.Tokens != nil || o.OAuth != nil }

// loopback reports whether Addr is a loopback address, not a socket.
func (o *Options) loopback() bool {
	host, _, err := net.SplitHostPort(orDefault(o.Addr, defaultAddr))
	return err == nil && isLoopback(host)
}

// Local reports whether all callers are on this machine.
func (o *Options) Local() bool {
	return (o.socket() != "" || o.loopback()) && !o.proxied()
}

// proxied reports whether requests may come through a proxy.
func (o *Options) proxied() bool { return o.BehindProxy || len(o.Proxies) > 0 }

// isLoopback accepts the name localhost and literal addresses, without name resolution.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ErrNoTokens is wrapped by errors of Check for an address that requires tokens.
var ErrNoTokens = errors.New("add tokens (sallyport token NAME)")

// Check refuses options that would admit unauthenticated callers, or send clear text, over the network, and options
// that contradict each other. The error contains the remedy.
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
	if len(o.Proxies) > 0 && !o.BehindProxy && o.TLSCert == "" {
		return errors.New("http.proxies names proxies: add --behind-proxy, or --tls-cert and --tls-key")
	}
	if strings.HasPrefix(o.Addr, "unix:") {
		return o.checkSocket()
	}
	if _, port, err := net.SplitHostPort(o.Addr); err != nil || port == "" {
		return fmt.Errorf("the address %q is neither HOST:PORT, such as 127.0.0.1:8470, nor unix:/PATH", o.Addr)
	}
	return o.checkReach()
}

func (o *Options) checkSocket() error {
	switch {
	case o.socket() == "":
		return fmt.Errorf("the address %q names no socket: write unix:/PATH", o.Addr)
	case o.TLSCert != "":
		return errors.New("a unix socket has no TLS: leave --tls-cert and --tls-key out")
	case o.BehindProxy && !o.authenticates():
		return fmt.Errorf("%s behind a proxy can be reached from other machines: %w", o.Addr, ErrNoTokens)
	}
	return nil
}

// checkReach checks addresses that other machines can reach.
func (o *Options) checkReach() error {
	if o.Local() {
		return nil
	}
	if o.loopback() {
		if !o.authenticates() {
			return fmt.Errorf("%s behind a proxy can be reached from other machines: %w", o.Addr, ErrNoTokens)
		}
		return nil
	}
	_, port, _ := net.SplitHostPort(o.Addr)
	const reached, tls, otherwise = "%s can be reached from other machines", "--tls-cert and --tls-key, or --behind-proxy", "; or listen on 127.0.0.1:%s"
	clear := o.TLSCert == "" && !o.BehindProxy
	switch {
	case !o.authenticates() && clear:
		return fmt.Errorf(reached+": %w, and "+tls+otherwise, o.Addr, ErrNoTokens, port)
	case !o.authenticates():
		return fmt.Errorf(reached+": %w"+otherwise, o.Addr, ErrNoTokens, port)
	case clear:
		return fmt.Errorf(reached+": add "+tls+otherwise, o.Addr, port)
	}
	return nil
}

// normalOrigin returns scheme://host[:port] in lower case and without a default port, or "" if s is not a web origin,
// which has no escapes (RFC 6454, section 6.2).
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
