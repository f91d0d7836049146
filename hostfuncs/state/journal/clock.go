package journal

import "time"

// tick is the time by which reading the clock advances it: a guest that polls the clock makes progress.
const tick = time.Microsecond

// Now returns the wall clock. It starts at the beginning of the call, and advances with entries, sleeps and reads, so
// that every run sees the same times.
func (j *Journal) Now() time.Time {
	j.now += int64(tick)
	return time.Unix(0, j.base+j.now)
}

// Monotonic returns the clock in nanoseconds, starting at one hour: it must not go back for a plugin that slept when
// it started.
func (j *Journal) Monotonic() int64 {
	j.now += int64(tick)
	return int64(time.Hour) + j.now
}

// Sleep advances the clock, and returns the time to wait. Waits of an earlier run are not repeated.
func (j *Journal) Sleep(d time.Duration) time.Duration {
	d = min(max(d, 0), maxSleep)
	j.now += int64(d)
	if j.Replaying() {
		return 0
	}
	return d
}

// maxSleep keeps the clock in range. No call lasts as long.
const maxSleep = 30 * 24 * time.Hour

// Read fills p with deterministic random bytes of the call. It never fails.
func (j *Journal) Read(p []byte) (int, error) { return j.random.Read(p) }
