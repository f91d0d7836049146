// Package quota bounds how often a plugin is called: at all, by each principal, and by each at the same time.
//
//	q := quota.New("github", quota.Limits{Rate: 10, PrincipalCalls: 2})
//	release, err := q.Admit("token:ci")
//
// This package is internal to Sallyport: it is not promised to others.
package quota

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxPrincipals bounds how many principals are told apart: beyond it the ones that have been quiet are
// forgotten, and then all others count as one.
const maxPrincipals = 10_000

// Limits bound how often a plugin is called. Zero fields are no limit.
type Limits struct {
	Rate           float64 // calls a second of the plugin, by anybody
	PrincipalRate  float64 // calls a second of each principal
	PrincipalCalls int     // calls of each principal at the same time
}

// Quota counts the calls of one plugin. It is safe for concurrent use.
type Quota struct {
	plugin string
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

// New returns the quota of a plugin, which errors name.
func New(plugin string, l Limits) *Quota {
	return &Quota{plugin: plugin, limits: l, now: time.Now, each: map[string]*user{}}
}

// Admit lets one call of a principal in, and returns what to call when it is over. The error is an
// *AskError that names the limit and says when to try again.
func (q *Quota) Admit(principal string) (release func(), err error) {
	if q.limits == (Limits{}) {
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

// user finds or makes what is kept of a principal.
func (q *Quota) user(principal string) *user {
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

func callsOf(n float64) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " calls"
}

func limited(wait time.Duration, format string, args ...any) error {
	e := runtime.AskErrorf(runtime.KindLimit, format, args...)
	e.RetryAfterMs = max(1, int64(math.Ceil(float64(wait)/float64(time.Millisecond))))
	e.Message += fmt.Sprintf(": try again in %s", (time.Duration(e.RetryAfterMs) * time.Millisecond).String())
	return e
}
