package hostfuncs

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/quota"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits bound what one plugin is used for, beside what an engine holds. Zero fields are no limit.
type Limits struct {
	Rate           float64 // calls a second of the plugin, by anybody
	PrincipalRate  float64 // calls a second of each principal
	PrincipalCalls int     // calls of each principal at the same time
	Sent, Received int64   // bytes of requests and answers of one call
}

// used are the limits of how often it is called.
func (l Limits) used() quota.Limits {
	return quota.Limits{Rate: l.Rate, PrincipalRate: l.PrincipalRate, PrincipalCalls: l.PrincipalCalls}
}

// Admit lets one call of a principal in, and returns what to call when it is over. The error is an
// *AskError that names the limit and says when to try again.
func (p *Policy) Admit(principal string) (release func(), err error) { return p.quota.Admit(principal) }

// overSent and overReceived are the ends of a call's bytes.
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

// RetryListener is met by a Client that wants to know when something that failed may be tried again.
type RetryListener interface {
	// RetryAfter is told in milliseconds, by a server or by a limit of the host.
	RetryAfter(ms int64)
}

// maxRetryAfter bounds what a server may ask callers to wait.
const maxRetryAfter = 24 * time.Hour

// noteRetry tells the caller of a server that asks to be left alone for a while (RFC 9110, section 10.2.3).
func (g *Gate) noteRetry(status int, h http.Header) {
	l, ok := g.call.Client.(RetryListener)
	if !ok || status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return
	}
	if wait := retryAfter(h.Get("Retry-After"), time.Now()); wait > 0 {
		l.RetryAfter(wait.Milliseconds())
	}
}

// retryAfter reads seconds or a date; 0 is neither.
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
