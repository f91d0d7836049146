package hostfuncs

import (
	"math"
	"time"
)

// frozen is a clock that does not run by itself: a sleep takes no time and moves it, and so does, a little, each look at
// it, so that a guest which waits for time to pass comes to an end.
type frozen struct {
	base   time.Duration // of the monotonic clock
	passed time.Duration
}

const (
	// look is what a look at the clock moves it by.
	look = time.Microsecond
	// maxPassed is about a hundred years: there the clock stops.
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

// sleep moves the clock. Who waits for something else than time really waits.
func (f *frozen) sleep(d time.Duration) time.Duration {
	if d == math.MaxInt64 {
		return d
	}
	f.move(d)
	return 0
}

func (f *frozen) move(d time.Duration) { f.passed += min(d, maxPassed-f.passed) }
