package notify

import "time"

// Rate limits for the messages of one request before its result.
const (
	notifyBurst     = 64
	notifyPerSecond = 50
)

// bucket is a token bucket with a burst of notifyBurst events and a rate of notifyPerSecond.
type bucket struct {
	used float64
	last time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.used = max(0, b.used-now.Sub(b.last).Seconds()*notifyPerSecond)
	b.last = now
	if b.used > notifyBurst-1 {
		return false
	}
	b.used++
	return true
}
