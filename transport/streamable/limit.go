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

// addressRate limits requests before authentication, to slow down guessing.
func (x *exchange) addressRate() *refusal {
	return tooMany(x.h.addresses.take(x.address()))
}

func (x *exchange) principalRate() *refusal {
	return tooMany(x.h.principals.take(x.principal))
}

func tooMany(wait time.Duration) *refusal {
	if wait <= 0 {
		return nil
	}
	return refuse(http.StatusTooManyRequests, "too many requests: wait %s s", seconds(wait)).with("Retry-After", seconds(wait))
}

// seconds formats a duration for Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// address returns the source of the request, as in listener.Source.
func (x *exchange) address() string {
	host, _, _ := net.SplitHostPort(x.r.RemoteAddr)
	if x.h.options.BehindProxy {
		host = orDefault(lastForwarded(x.r.Header), host)
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
