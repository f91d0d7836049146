package wasi

import "time"

// Supported clocks of the specification. The two processor-time clocks are not supported (EINVAL).
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// processStart is the origin of the default monotonic clock, which starts at one hour: some guests treat 0 as a broken
// clock, and for a guest that started with a frozen clock it must not go back.
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

// clockTimeGet writes the time of a clock in nanoseconds; the requested precision is ignored.
//
//	clock_time_get(id i32, precision i64, result ptr) -> errno    EINVAL no such clock, EFAULT
func clockTimeGet(c call, p []uint64) Errno {
	if c.reads != nil {
		c.reads(p[0] == clockRealtime)
	}
	now, e := c.clock(p[0])
	if e != ESUCCESS {
		return e
	}
	return c.put64(p[2], uint64(now))
}

// clock returns the time of a clock, truncated to Grain.
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
