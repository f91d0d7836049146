package journal

import (
	cryptorand "crypto/rand"
	"math/rand/v2"
	"time"
)

// tick is the time by which reading the clock advances it: a guest that polls the clock makes progress.
const tick = time.Microsecond

// clock is the time and the randomness of a call, which are the same in every run.
type clock struct {
	seed   [32]byte
	random *rand.ChaCha8 // from seed
	base   int64         // start of the call, in nanoseconds since 1970
	now    int64         // in nanoseconds since base
	real   func() time.Time
}

// begin starts the clock of a new call.
func (c *clock) begin() {
	c.base = c.real().UnixNano()
	cryptorand.Read(c.seed[:])
	c.random = rand.NewChaCha8(c.seed)
}

// catchUp advances the clock to the real time.
func (c *clock) catchUp() { c.now = max(c.now, c.real().UnixNano()-c.base) }

// CatchUp advances the clock to the real time, and returns it.
func (c *clock) CatchUp() (now int64) {
	c.catchUp()
	return c.now
}

// Advance advances the clock to a value that CatchUp returned in an earlier run.
func (c *clock) Advance(to int64) { c.now = max(c.now, to) }

// Now returns the wall clock. It starts at the beginning of the call, and advances with entries, sleeps and reads, so
// that every run sees the same times.
func (c *clock) Now() time.Time {
	c.now += int64(tick)
	return time.Unix(0, c.base+c.now)
}

// Monotonic returns the clock in nanoseconds, starting at one hour: it must not go back for a plugin that slept when
// it started.
func (c *clock) Monotonic() int64 {
	c.now += int64(tick)
	return int64(time.Hour) + c.now
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
func (c *clock) Read(p []byte) (int, error) { return c.random.Read(p) }
