package streamable

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/transport/listener"
)

// admission limits the requests of each address and each principal.
type admission struct {
	behindProxy bool
	addresses   *rateLimiter
	principals  *rateLimiter
	bodies      *budget // bytes of large messages
	requests    *budget // in flight
}

func newAdmission(o *Options) admission {
	a := admission{
		behindProxy: o.BehindProxy,
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
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	if a.behindProxy {
		host = orDefault(lastForwarded(r.Header), host)
	}
	return listener.Source(host)
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
