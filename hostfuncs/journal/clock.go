package journal

import "time"

// tick is what a look at the clock costs in its own time: a guest that waits for time to pass by
// looking gets on.
const tick = time.Microsecond

// Now is the wall clock. It shows when the call began, and moves by entries, by sleeps and by being
// looked at: the second run sees what the first one saw.
func (j *Journal) Now() time.Time {
	j.now += int64(tick)
	return time.Unix(0, j.base+j.now)
}

// Monotonic is the same clock counted from one hour before the call: a plugin that slept when it started must not
// see it go back.
func (j *Journal) Monotonic() int64 {
	j.now += int64(tick)
	return int64(time.Hour) + j.now
}

// Sleep moves the clock on, and returns how long to wait for it: what was waited for before is not
// waited for again.
func (j *Journal) Sleep(d time.Duration) time.Duration {
	d = min(max(d, 0), maxSleep)
	j.now += int64(d)
	if j.Replaying() {
		return 0
	}
	return d
}

// maxSleep keeps the clock within its range. No call lasts as long.
const maxSleep = 30 * 24 * time.Hour

// Read fills p with the call's own random bytes. It never fails.
func (j *Journal) Read(p []byte) (int, error) { return j.random.Read(p) }
