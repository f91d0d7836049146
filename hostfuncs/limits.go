package hostfuncs

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits limit the use of one plugin, in addition to the engine's limits. Zero fields are unlimited.
type Limits struct {
	Rate           float64 // calls per second of the plugin, by all principals
	PrincipalRate  float64 // calls per second of each principal
	PrincipalCalls int     // concurrent calls of each principal
	Sent, Received int64   // bytes of requests and answers of one call
}

// Admit admits one call, and returns the function that ends it. The error is an *AskError with the limit and the time of
// a retry.
func (p *Policy) Admit(caller identity.Identity) (release func(), err error) {
	return p.quota.admit(p.Class(caller), caller.Principal)
}

// Begin counts a call for the quotas of its caller, see usage.Meter. The returned function, nil without a quota, goes
// into Call.Settle.
func (p *Policy) Begin(ctx context.Context, caller identity.Identity) (settle func(usage.Amount), err error) {
	return p.host.options.Usage.Begin(ctx, caller)
}

// amountOf returns the use of a call, without that of nested ones, which are calls of their own.
func amountOf(r receipt.Receipt) (a usage.Amount) {
	a.Fuel = int64(min(r.Fuel, math.MaxInt64))
	for _, e := range r.Effects {
		if e.Family == "net" {
			a.Requests += int64(e.Count)
			a.Bytes += e.Sent + e.Received
		}
	}
	return a
}

// traffic counts the bytes of a call's requests and answers, and enforces their limits. It is safe for concurrent use.
type traffic struct {
	limits         *classLimits
	sent, received atomic.Int64
}

// send counts bytes of a request before it leaves. The error is the limit.
func (t *traffic) send(n int64) error {
	if most := t.limits.Sent; most > 0 && t.sent.Add(n) > most {
		return askErrorf(runtime.KindLimit, "the call sends more than %d bytes (%s)", most, runtime.Setting("sent", t.limits.own.Sent > 0))
	}
	return nil
}

// receive counts bytes of an answer. The error is the limit.
func (t *traffic) receive(n int64) error {
	if most := t.limits.Received; most > 0 && t.received.Add(n) > most {
		return askErrorf(runtime.KindLimit, "the call receives more than %d bytes (%s)", most, runtime.Setting("received", t.limits.own.Received > 0))
	}
	return nil
}

// maxRetryAfter limits the delay that a server may ask for.
const maxRetryAfter = 24 * time.Hour

// noteRetry forwards a server's Retry-After to the caller (RFC 9110, section 10.2.3).
func (s *session) noteRetry(status int, h http.Header) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		s.retryAfter(retryAfter(h.Get("Retry-After"), time.Now()).Milliseconds())
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
