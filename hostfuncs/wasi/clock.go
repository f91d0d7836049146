package wasi

import "time"

// Clocks of the specification that exist here. The two processor-time clocks do not (EINVAL).
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// processStart is what the default monotonic clock counts from. It begins one hour later than that:
// some guests take 0 for a broken clock, and one that started with a frozen clock must not see
// it go back.
var processStart = time.Now()

func sinceStart() int64 { return int64(time.Hour + time.Since(processStart)) }

// clockResGet writes the resolution of a clock in nanoseconds: Grain.
//
//	clock_res_get(id i32, result ptr) -> errno    EINVAL no such clock, EFAULT
func clockResGet(c call, p []uint64) Errno {
	if p[0] > clockMonotonic {
		return EINVAL
	}
	return c.put64(p[1], uint64(Grain))
}

// clockTimeGet writes a clock's time in nanoseconds; the precision wanted is ignored.
//
//	clock_time_get(id i32, precision i64, result ptr) -> errno    EINVAL no such clock, EFAULT
func clockTimeGet(c call, p []uint64) Errno {
	now, e := c.clock(p[0])
	if e != ESUCCESS {
		return e
	}
	return c.put64(p[2], uint64(now))
}

// clock reads a clock, cut to Grain.
func (s *State) clock(id uint64) (int64, Errno) {
	switch id {
	case clockRealtime:
		return coarse(s.now().UnixNano()), ESUCCESS
	case clockMonotonic:
		return coarse(s.monotonic()), ESUCCESS
	}
	return 0, EINVAL
}

func coarse(ns int64) int64 { return ns - ns%int64(Grain) }
