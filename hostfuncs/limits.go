package hostfuncs

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits limit the use of one plugin, in addition to the engine's limits. Zero fields are unlimited.
type Limits struct {
	Rate           float64 // calls per second of the plugin, by all principals
	PrincipalRate  float64 // calls per second of each principal
	PrincipalCalls int     // concurrent calls of each principal
	Sent, Received int64   // bytes of requests and answers of one call
}

// Admit admits one call of a principal, and returns the function that ends it. The error is an *AskError with the
// limit and the time of a retry.
func (p *Policy) Admit(principal string) (release func(), err error) { return p.quota.admit(principal) }

// overSent and overReceived enforce the limits on a call's bytes.
func (g *Gate) overSent(n int64) error {
	if most := g.policy.plugin.Limits.Sent; most > 0 && g.sent.Add(n) > most {
		return askErrorf(runtime.KindLimit, "the call sends more than %d bytes (limits.sent)", most)
	}
	return nil
}

func (g *Gate) overReceived(n int64) error {
	if most := g.policy.plugin.Limits.Received; most > 0 && g.received.Add(n) > most {
		return askErrorf(runtime.KindLimit, "the call receives more than %d bytes (limits.received)", most)
	}
	return nil
}

// RetryListener is implemented by a Client that takes retry delays of failures.
type RetryListener interface {
	// RetryAfter takes the delay of a server or a host limit, in milliseconds.
	RetryAfter(ms int64)
}

// maxRetryAfter limits the delay that a server may ask for.
const maxRetryAfter = 24 * time.Hour

// noteRetry forwards a server's Retry-After to the caller (RFC 9110, section 10.2.3).
func (g *Gate) noteRetry(status int, h http.Header) {
	l, ok := g.call.Client.(RetryListener)
	if !ok || status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return
	}
	if wait := retryAfter(h.Get("Retry-After"), time.Now()); wait > 0 {
		l.RetryAfter(wait.Milliseconds())
	}
}

// retryAfter parses seconds or a date; it returns 0 for anything else.
func retryAfter(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(s)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil || !at.After(now) {
		return 0
	}
	return min(at.Sub(now), maxRetryAfter)
}
