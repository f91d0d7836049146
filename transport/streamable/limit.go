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

// addressRate comes before the token is looked at, so that guessing has its price.
func (x *exchange) addressRate() *refusal {
	return tooMany(x.h.addresses.Take(x.address()))
}

func (x *exchange) principalRate() *refusal {
	return tooMany(x.h.principals.Take(x.principal))
}

func tooMany(wait time.Duration) *refusal {
	if wait <= 0 {
		return nil
	}
	return refuse(http.StatusTooManyRequests, "too many requests: wait %s s", seconds(wait)).with("Retry-After", seconds(wait))
}

// seconds is a time as Retry-After has it.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// address is where the request comes from, as Source has it.
func (x *exchange) address() string {
	host, _, _ := net.SplitHostPort(x.r.RemoteAddr)
	if x.h.options.BehindProxy {
		host = orDefault(lastForwarded(x.r.Header), host)
	}
	return listener.Source(host)
}

// lastForwarded is what our own proxy appended; what stands before it anybody can write.
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
