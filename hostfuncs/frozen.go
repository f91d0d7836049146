package hostfuncs

import (
	"cmp"
	"math"
	"time"
)

// frozen is a clock that advances only by sleeps, which return at once, and slightly with each reading, so that a
// guest that polls for time to pass terminates.
type frozen struct {
	base   time.Duration // of the monotonic clock
	most   time.Duration // the largest advance; 0 is maxPassed
	passed time.Duration
}

const (
	// look is the advance per reading.
	look = time.Microsecond
	// maxPassed stops the clock after about a hundred years.
	maxPassed = time.Duration(math.MaxInt64 / 3)
)

func (f *frozen) now() time.Time {
	f.move(look)
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(f.passed)
}

func (f *frozen) monotonic() int64 {
	f.move(look)
	return int64(f.base + f.passed)
}

// sleep advances the clock. An unlimited sleep, which waits for events, is left to the caller.
func (f *frozen) sleep(d time.Duration) time.Duration {
	if d == math.MaxInt64 {
		return d
	}
	f.move(d)
	return 0
}

func (f *frozen) move(d time.Duration) { f.passed += min(d, cmp.Or(f.most, maxPassed)-f.passed) }
