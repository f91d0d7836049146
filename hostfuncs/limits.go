package hostfuncs

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits bound what one plugin is used for, beside what an engine holds. Zero fields are no limit.
type Limits struct {
	Rate           float64 // calls a second of the plugin, by anybody
	PrincipalRate  float64 // calls a second of each principal
	PrincipalCalls int     // calls of each principal at the same time
	Sent, Received int64   // bytes of requests and answers of one call
}

// maxPrincipals bounds how many principals are told apart: beyond it the ones that have been quiet are
// forgotten, and then all others count as one.
const maxPrincipals = 10_000

// quota counts the calls of one plugin. It is safe for concurrent use.
type quota struct {
	limits Limits
	now    func() time.Time

	mu   sync.Mutex
	all  bucket
	each map[string]*user
}

// user is what one principal has used.
type user struct {
	bucket  bucket
	running int
}

// bucket holds the calls that may come at once: as many as a second has, at least one.
type bucket struct {
	left  float64
	since time.Time
}

// take takes one call out; what is to be waited for if there is none.
func (b *bucket) take(rate float64, now time.Time) (wait time.Duration) {
	size := math.Max(1, rate)
	if b.since.IsZero() {
		b.left = size
	} else if passed := now.Sub(b.since).Seconds(); passed > 0 {
		b.left = math.Min(size, b.left+passed*rate)
	}
	b.since = now
	if b.left >= 1 {
		b.left--
		return 0
	}
	return time.Duration((1 - b.left) / rate * float64(time.Second))
}

func newQuota(l Limits) *quota {
	return &quota{limits: l, now: time.Now, each: map[string]*user{}}
}

// Admit lets one call of a principal in, and returns what to call when it is over. The error is an
// *AskError that names the limit and says when to try again.
func (p *Policy) Admit(principal string) (release func(), err error) {
	return p.quota.admit(p.plugin.Name, principal)
}

func (q *quota) admit(plugin, principal string) (func(), error) {
	if q.limits == (Limits{Sent: q.limits.Sent, Received: q.limits.Received}) {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.user(principal)
	now := q.now()
	if most := q.limits.PrincipalCalls; most > 0 && u.running >= most {
		return nil, limited(time.Second, "plugin %q serves %d calls of one caller at a time (limits.principal_calls)", plugin, most)
	}
	if rate := q.limits.PrincipalRate; rate > 0 {
		if wait := u.bucket.take(rate, now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s calls a second of one caller (limits.principal_rate)", plugin, number3(rate))
		}
	}
	if rate := q.limits.Rate; rate > 0 {
		if wait := q.all.take(rate, now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s calls a second (limits.rate)", plugin, number3(rate))
		}
	}
	u.running++
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		u.running--
	}), nil
}

// user finds or makes what is kept of a principal.
func (q *quota) user(principal string) *user {
	if u := q.each[principal]; u != nil {
		return u
	}
	if len(q.each) >= maxPrincipals {
		for name, u := range q.each {
			if u.running == 0 && q.now().Sub(u.bucket.since) > time.Minute {
				delete(q.each, name)
			}
		}
	}
	if len(q.each) >= maxPrincipals {
		principal = "" // whoever is left shares
	}
	if q.each[principal] == nil {
		q.each[principal] = &user{}
	}
	return q.each[principal]
}

func number3(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

func limited(wait time.Duration, format string, args ...any) error {
	e := askErrorf(runtime.KindLimit, format, args...)
	e.RetryAfterMs = max(1, int64(math.Ceil(float64(wait)/float64(time.Millisecond))))
	e.Message += fmt.Sprintf(": try again in %s", (time.Duration(e.RetryAfterMs) * time.Millisecond).String())
	return e
}

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
