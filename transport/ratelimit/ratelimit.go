// Package ratelimit limits how often something is done for each of many keys, such as the addresses that requests come
// from, without remembering all of them.
//
//	l := ratelimit.New(50, 200)
//	if wait := l.Take(address); wait > 0 { … refuse … }
//
// This package is not promised to others; it may change with any version.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxKeys bounds each of the two generations of keys. Who is pushed out by so many others
// begins with a full burst again.
const maxKeys = 4096

// Limiter holds a rate per key, in bounded memory: when the young generation is full, it becomes
// the old one, and the old one is forgotten. It is safe for concurrent use.
type Limiter struct {
	rate rate.Limit
	size int // burst
	max  int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// New limits each key to so many a second in the long run, and to burst at once after a rest. A negative rate is nil,
// which never limits.
func New(perSecond float64, burst int) *Limiter {
	if perSecond < 0 {
		return nil
	}
	return &Limiter{rate: rate.Limit(perSecond), size: max(burst, 1), max: maxKeys}
}

// Take counts one for key, and returns how long it would have to wait; 0 lets it pass.
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
