// Package ratelimit limits the rate of events per key, such as the address of a request, in bounded memory.
//
//	l := ratelimit.New(50, 200)
//	if wait := l.Take(address); wait > 0 { … refuse … }
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxKeys bounds each of the two generations of keys. A key that is evicted begins again with a full burst.
const maxKeys = 4096

// Limiter limits the rate per key. Its memory is bounded by two generations: when the young one is full it becomes
// the old one, and the previous old one is dropped. It is safe for concurrent use.
type Limiter struct {
	rate rate.Limit
	size int // burst
	max  int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// New returns a limiter for a long-term rate and a burst per key. A negative rate returns nil, which never limits.
func New(perSecond float64, burst int) *Limiter {
	if perSecond < 0 {
		return nil
	}
	return &Limiter{rate: rate.Limit(perSecond), size: max(burst, 1), max: maxKeys}
}

// Take counts one event for key, and returns the time to wait. 0 permits the event.
func (l *Limiter) Take(key string) time.Duration {
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

func (l *Limiter) of(key string) *rate.Limiter {
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
