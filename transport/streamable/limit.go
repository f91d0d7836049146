package streamable

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimiters bounds each of the two generations of limiters. Who is pushed out by so many others
// begins with a full burst again.
const maxLimiters = 4096

// limiters hold a rate per key, in bounded memory: when the young generation is full, it becomes
// the old one, and the old one is forgotten.
type limiters struct {
	rate rate.Limit
	size int // burst
	max  int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// newLimiters returns nil, which never limits, for a negative rate.
func newLimiters(r Rate) *limiters {
	if r.PerSecond < 0 {
		return nil
	}
	return &limiters{rate: rate.Limit(r.PerSecond), size: max(r.Burst, 1), max: maxLimiters}
}

// take counts one request of key, and returns how long it would have to wait; 0 lets it pass.
func (l *limiters) take(key string) time.Duration {
	if l == nil {
		return 0
	}
	now := time.Now()
	r := l.of(key).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (l *limiters) of(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lim := l.young[key]; lim != nil {
		return lim
	}
	lim := l.old[key]
	if lim == nil {
		lim = rate.NewLimiter(l.rate, l.size)
	}
	if l.young == nil || len(l.young) >= l.max {
		l.old, l.young = l.young, make(map[string]*rate.Limiter)
	}
	l.young[key] = lim
	return lim
}

// addressRate comes before the token is looked at, so that guessing has its price.
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
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	return refuse(http.StatusTooManyRequests, "too many requests: wait %s s", seconds).with("Retry-After", seconds)
}

// address is where the request comes from: an IPv4 address, or the /64 of an IPv6 address, which
// is what one host has to itself.
func (x *exchange) address() string {
	host, _, _ := net.SplitHostPort(x.r.RemoteAddr)
	if x.h.options.BehindProxy {
		host = orDefault(lastForwarded(x.r.Header), host)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
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
