package hostfuncs

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxPrincipals bounds the principals that a quota tracks. Beyond it idle ones are dropped, and then all further ones
// share one entry.
const maxPrincipals = 10_000

// quota limits the calls of a plugin: their rate in total, and the rate and concurrency of each principal. It is safe
// for concurrent use.
type quota struct {
	plugin string
	limits Limits
	now    func() time.Time

	mu   sync.Mutex
	all  bucket
	each map[string]*principalUse
}

// principalUse is the usage of one principal.
type principalUse struct {
	bucket  bucket
	running int
}

// bucket is a token bucket with the calls of one second as its capacity, at least one.
type bucket struct {
	left  float64
	since time.Time
}

// take consumes one call. If there is none, it returns the time to wait.
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

// newQuota returns the quota of a plugin. Errors contain its name.
func newQuota(plugin string, l Limits) *quota {
	return &quota{plugin: plugin, limits: l, now: time.Now, each: map[string]*principalUse{}}
}

// admit admits one call of a principal. The caller must call release when the call ends. The error is an *AskError
// with the limit and the time to wait.
func (q *quota) admit(principal string) (release func(), err error) {
	if l := q.limits; l.Rate == 0 && l.PrincipalRate == 0 && l.PrincipalCalls == 0 {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.user(principal)
	now := q.now()
	if most := q.limits.PrincipalCalls; most > 0 && u.running >= most {
		return nil, limited(time.Second, "plugin %q serves %s of one caller at a time (limits.principal_calls)", q.plugin, callsOf(float64(most)))
	}
	if rate := q.limits.PrincipalRate; rate > 0 {
		if wait := u.bucket.take(rate, now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s a second of one caller (limits.principal_rate)", q.plugin, callsOf(rate))
		}
	}
	if rate := q.limits.Rate; rate > 0 {
		if wait := q.all.take(rate, now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s a second (limits.rate)", q.plugin, callsOf(rate))
		}
	}
	u.running++
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		u.running--
	}), nil
}

// user finds or adds the entry of a principal.
func (q *quota) user(principal string) *principalUse {
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
		principal = "" // the remaining principals share an entry
	}
	if q.each[principal] == nil {
		q.each[principal] = &principalUse{}
	}
	return q.each[principal]
}

func callsOf(n float64) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " calls"
}

func limited(wait time.Duration, format string, args ...any) error {
	e := askErrorf(runtime.KindLimit, format, args...)
	e.RetryAfterMs = max(1, int64(math.Ceil(float64(wait)/float64(time.Millisecond))))
	e.Message += fmt.Sprintf(": try again in %s", (time.Duration(e.RetryAfterMs) * time.Millisecond).String())
	return e
}
