package streamable

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/transport/forwarded"
	"github.com/sallyport-mcp/sallyport/transport/listener"
)

// admission limits the requests of each address and each principal.
type admission struct {
	behindProxy bool
	proxies     forwarded.Networks
	clients     forwarded.Networks // nil admits all
	addresses   *rateLimiter
	principals  *rateLimiter
	bodies      *budget // bytes of large messages
	requests    *budget // in flight
}

func newAdmission(o *Options) admission {
	a := admission{
		behindProxy: o.BehindProxy,
		proxies:     o.Proxies,
		clients:     o.Clients,
		addresses:   newRateLimiter(o.Rate.PerSecond, o.Rate.Burst),
		principals:  newRateLimiter(o.Rate.PerSecond, o.Rate.Burst),
		bodies:      newBudget(o.Bodies, max(o.Bodies/4, 2*o.MaxMessage), newNotice(o.Logger, "http.bodies")),
		requests:    newBudget(o.Connections, o.Connections-o.Connections/4, newNotice(o.Logger, "http.connections")),
	}
	if o.socket() != "" && !o.BehindProxy {
		a.addresses = nil // the peer address is always the same
	}
	return a
}

// checkAddress limits the rate of requests before authentication, to slow down guessing.
func (a *admission) checkAddress(r *http.Request) *refusal {
	return tooMany(a.addresses.take(a.address(r)))
}

// checkPrincipal limits the rate of requests after authentication.
func (a *admission) checkPrincipal(principal string) *refusal {
	return tooMany(a.principals.take(principal))
}

// place assigns the connection to its caller, and counts the request as in flight until leave.
func (a *admission) place(c *listener.Conn, principal string) *refusal {
	owner := principal
	if a.behindProxy {
		owner = "the proxy"
	}
	if c != nil && !c.Known(owner) {
		return refuse(http.StatusServiceUnavailable, "too many connections").with("Retry-After", "1").closing()
	}
	if !a.requests.take(principal, 1) {
		return refuse(http.StatusTooManyRequests, "too many requests at once").with("Retry-After", "1")
	}
	return nil
}

func (a *admission) leave(principal string) { a.requests.giveBack(principal, 1) }

func tooMany(wait time.Duration) *refusal {
	if wait <= 0 {
		return nil
	}
	return refuse(http.StatusTooManyRequests, "too many requests: wait %s s", seconds(wait)).with("Retry-After", seconds(wait))
}

// seconds formats a duration for Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// address returns the source of a request, as in listener.Source.
func (a *admission) address(r *http.Request) string {
	if addr := a.client(r, a.proxies.Client(r)); addr.IsValid() {
		return listener.Source(addr.String())
	}
	return ""
}

// checkNetwork refuses clear text from a peer that is not the proxy, and clients outside the permitted networks. The
// address of a proxy does not permit a client that it hides. Users of this machine on a socket need no address.
func (a *admission) checkNetwork(r *http.Request) *refusal {
	if len(a.proxies) == 0 && len(a.clients) == 0 {
		return nil
	}
	c := a.proxies.Client(r)
	socket := !c.Addr.IsValid()
	if a.behindProxy && len(a.proxies) > 0 && !c.Proxied && !socket && r.TLS == nil {
		return refuse(http.StatusForbidden, "%s is no proxy of this server (http.proxies)", c.Addr).closing()
	}
	hidden := c.Hidden || a.behindProxy && r.Header.Values("X-Forwarded-For") != nil && lastForwarded(r.Header) == "" && len(a.proxies) == 0
	if socket && !a.behindProxy || len(a.clients) == 0 || !hidden && a.clients.Contains(a.client(r, c)) {
		return nil
	}
	return refuse(http.StatusForbidden, "this address may not call (http.clients)").closing()
}

// client returns the address of the client. Without named proxies, and on a socket, it is the one that the proxy in front
// appended.
func (a *admission) client(r *http.Request, c forwarded.Client) netip.Addr {
	if a.behindProxy && (len(a.proxies) == 0 || !c.Addr.IsValid()) {
		if addr, err := netip.ParseAddr(lastForwarded(r.Header)); err == nil {
			return addr
		}
	}
	return c.Addr
}

// lastForwarded returns the address that the operator's proxy appended. Earlier ones are not trustworthy.
func lastForwarded(h http.Header) string {
	values := h.Values("X-Forwarded-For")
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	if _, err := netip.ParseAddr(last); err != nil {
		return ""
	}
	return last
}
