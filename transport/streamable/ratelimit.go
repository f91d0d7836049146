package streamable

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rateKeys bounds each of the two generations of keys. A key that is evicted begins again with a full burst.
const rateKeys = 4096

// rateLimiter limits the rate of events per key, such as the address of a request. Its memory is bounded by two
// generations: when the young one is full it becomes the old one, and the previous old one is dropped. It is safe for
// concurrent use.
type rateLimiter struct {
	rate rate.Limit
	size int // burst
	max  int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// newRateLimiter returns a limiter for a long-term rate and a burst per key. A negative rate returns nil, which never
// limits.
func newRateLimiter(perSecond float64, burst int) *rateLimiter {
	if perSecond < 0 {
		return nil
	}
	return &rateLimiter{rate: rate.Limit(perSecond), size: max(burst, 1), max: rateKeys}
}

// take counts one event for key and returns 0, or returns the time to wait. A refused event does not count.
func (l *rateLimiter) take(key string) time.Duration {
	if l == nil {
		return 0
	}
	now, bucket := time.Now(), l.of(key)
	if bucket.AllowN(now, 1) {
		return 0
	}
	return max(1, time.Duration((1-bucket.TokensAt(now))/float64(l.rate)*float64(time.Second)))
}

func (l *rateLimiter) of(key string) *rate.Limiter {
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
