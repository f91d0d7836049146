package wasi

import (
	"math"
	"time"
)

// frozen is a clock that does not run by itself: a sleep takes no time and moves it, and so does, a little, each look at
// it, so that a guest which waits for time to pass comes to an end.
type frozen struct {
	begin  time.Time
	passed time.Duration
}

// look is what a look at the clock moves it by.
const look = time.Microsecond

// frozenMonotonic is what the monotonic clock begins with; see processStart.
const frozenMonotonic = time.Second

func (f *frozen) now() time.Time {
	f.move(look)
	return f.begin.Add(f.passed)
}

func (f *frozen) monotonic() int64 {
	f.move(look)
	return int64(frozenMonotonic + f.passed)
}

// maxPassed is about a hundred years: the clock stops there.
const maxPassed = time.Duration(math.MaxInt64 / 3)

func (f *frozen) move(d time.Duration) { f.passed += min(d, maxPassed-f.passed) }
