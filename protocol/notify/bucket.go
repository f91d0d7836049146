package notify

import "time"

// Bounds on what one request may send before its result: more than a person can follow and less than what would slow a
// client down.
const (
	notifyBurst     = 64
	notifyPerSecond = 50
)

// bucket lets notifyBurst events through at once and notifyPerSecond in the long run.
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
