package hostfuncs

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxPrincipals bounds the principals that a quota tracks. Beyond it idle ones are dropped, and then all further ones
// of a class share one entry.
const maxPrincipals = 10_000

// quota limits the calls of a plugin: their rate in total and in each class, and the rate and concurrency of each
// principal. It is safe for concurrent use.
type quota struct {
	plugin string
	limits []classLimits // by class
	now    func() time.Time

	mu   sync.Mutex
	all  []*rate.Limiter // by class, of whose callers together; that of class 0 is of all callers
	each map[principalOf]*principalUse
}

// principalOf is a principal in a class: its roles, and with them its class, can differ from call to call.
type principalOf struct {
	class     int
	principal string
}

// principalUse is the usage of one principal.
type principalUse struct {
	bucket  *rate.Limiter
	running int
}

// newBucket returns a token bucket with the calls of one second as its capacity, at least one.
func newBucket(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), int(min(max(1, perSecond), math.MaxInt32)))
}

// takeCall consumes one call. If there is none, it returns the time to wait.
func takeCall(b *rate.Limiter, now time.Time) (wait time.Duration) {
	if b.AllowN(now, 1) {
		return 0
	}
	return max(1, time.Duration((1-b.TokensAt(now))/float64(b.Limit())*float64(time.Second)))
}

// idle reports whether the usage equals that of a new principal.
func (u *principalUse) idle(now time.Time) bool {
	return u.running == 0 && u.bucket.TokensAt(now) >= float64(u.bucket.Burst())
}

// newQuota returns the quota of a plugin. Errors contain its name.
func newQuota(plugin string, limits []classLimits) *quota {
	q := &quota{plugin: plugin, limits: limits, now: time.Now, each: map[principalOf]*principalUse{}}
	for _, l := range limits {
		q.all = append(q.all, newBucket(l.Rate))
	}
	return q
}

// admit admits one call of a principal in a class. The caller must call release when the call ends. The error is an *AskError
// with the limit and the time to wait.
func (q *quota) admit(class int, principal string) (release func(), err error) {
	l := &q.limits[class]
	if q.limits[0].Rate == 0 && l.Rate == 0 && l.PrincipalRate == 0 && l.PrincipalCalls == 0 {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	u := q.user(principalOf{class, principal}, now)
	if most := l.PrincipalCalls; most > 0 && u.running >= most {
		return nil, limited(time.Second, "plugin %q serves %s of one caller at a time (%s)", q.plugin, callsOf(float64(most)), runtime.Setting("principal_calls", l.own.PrincipalCalls > 0))
	}
	if perSecond := l.PrincipalRate; perSecond > 0 {
		if wait := takeCall(u.bucket, now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s a second of one caller (%s)", q.plugin, callsOf(perSecond), runtime.Setting("principal_rate", l.own.PrincipalRate > 0))
		}
	}
	if perSecond := l.own.Rate; perSecond > 0 {
		if wait := takeCall(q.all[class], now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s a second of callers like this one (limits.for.rate)", q.plugin, callsOf(perSecond))
		}
	}
	if perSecond := q.limits[0].Rate; perSecond > 0 {
		if wait := takeCall(q.all[0], now); wait > 0 {
			return nil, limited(wait, "plugin %q serves %s a second (limits.rate)", q.plugin, callsOf(perSecond))
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
func (q *quota) user(who principalOf, now time.Time) *principalUse {
	if u := q.each[who]; u != nil {
		return u
	}
	if len(q.each) >= maxPrincipals {
		for other, u := range q.each {
			if u.idle(now) {
				delete(q.each, other)
			}
		}
	}
	if len(q.each) >= maxPrincipals {
		who.principal = "" // the remaining principals of a class share an entry
	}
	if q.each[who] == nil {
		q.each[who] = &principalUse{bucket: newBucket(q.limits[who.class].PrincipalRate)}
	}
	return q.each[who]
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
